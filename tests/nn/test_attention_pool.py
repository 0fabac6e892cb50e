import io

import pytest
import torch
from torch import nn
from torch.autograd import gradcheck

from symsets import RaggedSets
from symsets.nn import AttentionPool, Classify, Merge, Select
from symsets.testing import equivariance_error, roll

KINDS = [{}, {"num_queries": 3}, {"heads": 2}, {"gated": True}]


def reference(pool, x):
    """The formula for one set ``(N, C, *E)``."""
    features = x.flatten(2).mean(2) if x.ndim > 2 else x
    key = pool.key(features)
    if pool.gated:
        key = key.tanh() * pool.gate(features).sigmoid()
    step, parts = pool.channels // pool.heads, []
    for query in pool.queries:
        for h in range(pool.heads):
            own = slice(h * step, (h + 1) * step)
            weights = (key[:, own] @ query[own] / step**0.5).softmax(0)
            parts.append(torch.einsum("j,jc...->c...", weights, x[:, own]))
    return torch.cat(parts)


@pytest.mark.parametrize("shape", [(), (5,)])
@pytest.mark.parametrize("options", KINDS)
def test_it_follows_the_formula_dense_and_ragged(options, shape):
    pool = AttentionPool(4, **options).double()
    for sizes in ([2, 0, 5, 1], [4, 4]):
        x = RaggedSets(torch.randn(8, 4, *shape, dtype=torch.float64), sizes)
        for found, one in zip(pool(x), x, strict=True):
            if len(one) == 0:
                assert not found.any()
                continue
            torch.testing.assert_close(found, reference(pool, one), rtol=1e-10, atol=1e-10)
            torch.testing.assert_close(pool(one[None])[0], found, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("options", KINDS)
def test_pools_and_heads_keep_the_symmetry(options):
    num = options.get("num_queries", 1)
    merge = Merge(nn.Conv1d(4 * num, 3, 1), pool=AttentionPool(4, **options))
    classify = Classify(4, 3, hidden=(5,), pool=AttentionPool(4, **options))
    for x in (torch.randn(2, 5, 4, 6), RaggedSets(torch.randn(6, 4, 6), [1, 0, 5])):
        assert equivariance_error(classify, x, symmetry=roll(2), task="classify") < 1e-9
        assert equivariance_error(merge, x, symmetry=roll(2), task="merge") < 1e-9


@pytest.mark.parametrize("options", KINDS)
def test_weights_sum_to_one_and_tell_what_was_pooled(options):
    pool = AttentionPool(4, **options).double()
    x = torch.randn(2, 5, 4, dtype=torch.float64)
    weights = pool.weights(x)
    assert weights.shape == (2, pool.heads, pool.num_queries, 5)
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]).double())
    split = x.unflatten(2, (pool.heads, -1))
    mixed = torch.einsum("bhmj,bjhc->bmhc", weights, split).flatten(1)
    torch.testing.assert_close(pool(x), mixed)
    ragged = pool.weights(RaggedSets(x.flatten(0, 1)[:7], [5, 0, 2]))
    assert [w.shape[-1] for w in ragged] == [5, 0, 2]
    torch.testing.assert_close(ragged[0], weights[0])


def test_gradients_are_those_of_the_value():
    pool = AttentionPool(2, num_queries=2, gated=True).double()
    rows = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda r: pool(RaggedSets(r, [1, 0, 3, 2])), rows)
    for parameter in pool.parameters():
        assert gradcheck(lambda _: pool(rows.detach()[None]), parameter)


def test_a_head_saves_its_pool_with_its_weights():
    head, other = (Classify(4, 3, pool=AttentionPool(4)) for _ in range(2))
    file = io.BytesIO()
    torch.save(head.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    x = torch.randn(2, 5, 4)
    assert torch.equal(head(x), other(x))
    assert "softmax_j ⟨query, key(mean_k x_jk)⟩ mean_k x_jk" in repr(head)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: AttentionPool(4, heads=3), "heads must divide the 4 channels, got 3"),
        (lambda: AttentionPool(4, num_queries=0), "num_queries must be at least 1, got 0"),
        (
            lambda: AttentionPool(4)(torch.zeros(2, 5, 3)),
            r"x must have 4 channels \(first axis of an element\) for AttentionPool, got 3",
        ),
        (
            lambda: Classify(8, 3, pool=AttentionPool(4)),
            "pool must be an AttentionPool of in_channels = 8 channels, got one of 4",
        ),
        (lambda: Select(4, pool=AttentionPool(4)), "pool must be a name or a function"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
