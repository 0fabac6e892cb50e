import pytest
import torch
from matrices import dimension_spanned, one_channel
from torch import nn
from torch.autograd import gradcheck

from symsets import RaggedSets, groups, select_loss
from symsets.nn import Classify, Merge, Select
from symsets.testing import equivariance_error, roll

N, D = 3, 4
HEADS = {
    "classify": lambda **kw: Classify(2, 3, hidden=(4,), **kw),
    "select": lambda **kw: Select(2, hidden=(4,), **kw),
    "merge": lambda **kw: Merge(nn.Conv1d(2, 3, 3, padding=1, padding_mode="circular"), **kw),
}


def without_bias(head):
    for module in head.modules():
        if isinstance(module, nn.Linear):
            module.register_parameter("bias", None)
    return head


@pytest.mark.parametrize("H", [groups.Cyclic(D), groups.Symmetric(D)], ids=str)
def test_heads_are_every_linear_map_of_their_kind(H):
    G = groups.Symmetric(N) * H
    kinds = {
        "n×d → n": (lambda: without_bias(Select(1)), G.on(0), 2),
        "n×d → d": (lambda: Merge(one_channel(H)), G.on(1), groups.dimension(H)),
        "n×d → 1": (lambda: without_bias(Classify(1, 1)), G.on(), 1),
    }
    for make, target, expected in kinds.values():
        spanned = dimension_spanned(make, (N, 1, D), groups.basis(G, target))
        assert spanned == groups.dimension(G, target) == expected


@pytest.mark.parametrize("pool", ["sum", "mean", "max", "median"])
@pytest.mark.parametrize("task", HEADS)
def test_heads_keep_the_symmetry(task, pool):
    head = HEADS[task](pool=pool)
    for x in (torch.randn(2, 5, 2, 6), RaggedSets(torch.randn(6, 2, 6), [1, 0, 5])):
        assert equivariance_error(head, x, symmetry=roll(2), task=task) < 1e-9


@pytest.mark.parametrize("entries", ["sum", "mean", "max"])
def test_ragged_scores_equal_dense_ones(entries):
    head = Select(2, hidden=(4,), entries=entries).double()
    x = RaggedSets(torch.randn(6, 2, 5, dtype=torch.float64), [2, 4])
    scores = head(x)
    assert scores.elements.shape == (6,)
    for one, sets in zip(scores, x, strict=True):
        torch.testing.assert_close(one, head(sets[None])[0], rtol=1e-12, atol=1e-12)


def test_heads_take_elements_without_further_axes():
    assert Classify(4, 3)(torch.randn(2, 5, 4)).shape == (2, 3)
    assert Select(4)(torch.randn(2, 5, 4)).shape == (2, 5)


def test_power_sums_widen_the_classifier():
    x = torch.randn(2, 5, 3, 8)
    head = Classify(3, 4, hidden=(6,), pool="power2")
    assert head(x).shape == (2, 4)
    assert equivariance_error(head, x, symmetry=roll(2), task="classify") < 1e-9


def test_heads_take_clouds_with_different_numbers_of_points():
    clouds = [[torch.randn(4, 3), torch.randn(2, 3)], [torch.randn(5, 3)]]
    x = RaggedSets.from_list(clouds)
    for entries in ("sum", "mean", "max"):
        select, classify = Select(3, entries=entries), Classify(3, 2, entries=entries)
        scores, labels = select(x), classify(x)
        for i, cloud in enumerate(clouds):
            features = torch.stack([reduced(c, entries) for c in cloud])[None]  # (1, N, C)
            torch.testing.assert_close(scores[i], select(features)[0])
            torch.testing.assert_close(labels[i], classify(features)[0])


def reduced(cloud, entries):
    return cloud.amax(0) if entries == "max" else getattr(cloud, entries)(0)


@pytest.mark.parametrize("task", HEADS)
def test_gradients_are_those_of_the_value(task):
    head = HEADS[task]().double()
    x = torch.randn(2, 3, 2, 4, dtype=torch.float64, requires_grad=True)
    assert gradcheck(head, x)


def test_ragged_select_loss_equals_dense():
    scores, target = torch.randn(3, 4, dtype=torch.float64), torch.tensor([0, 3, 2])
    ragged = RaggedSets(scores.flatten(), [4, 4, 4])
    for reduction in ("mean", "sum", "none"):
        torch.testing.assert_close(
            select_loss(ragged, target, reduction=reduction),
            nn.functional.cross_entropy(scores, target, reduction=reduction),
        )
        torch.testing.assert_close(
            select_loss(scores, target, reduction=reduction),
            nn.functional.cross_entropy(scores, target, reduction=reduction),
        )


def test_select_loss_of_several_networks_at_once_is_that_of_each():
    scores, target = torch.randn(3, 5, 4), torch.randint(4, (3, 5))
    each = torch.stack([select_loss(s, t) for s, t in zip(scores, target, strict=True)])
    torch.testing.assert_close(torch.vmap(select_loss)(scores, target), each)


def test_select_loss_is_finite_and_differentiable_for_any_sizes():
    target = torch.tensor([0, 2, 0])
    rows = torch.randn(6, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda r: select_loss(RaggedSets(r, [2, 3, 1]), target), rows)
    assert select_loss(RaggedSets(1e4 * rows.detach(), [2, 3, 1]), target).isfinite()


def test_printing_a_head_reads_like_the_mathematics():
    assert "mlp(Σ_j mean_k x_jk / 25)" in repr(Classify(2, 3, size=25))
    assert "element(max_j x_j)" in repr(Merge(nn.Linear(2, 2), pool="max"))
    assert "deepsets(max_k x_ik)" in repr(Select(2, entries="max"))


SCORES = torch.zeros(2, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Classify(2, 3, pool="men"), "pool must be one of"),
        (lambda: Select(2, entries="med"), r"entries must be one of \['flatten', 'max', 'mean', "),
        (lambda: Merge(nn.Linear(2, 2), pool="men"), "pool must be one of"),
        (lambda: Merge(nn.Linear(2, 2), size=0), "size must be positive, got 0"),
        (lambda: Classify(2, 3, size=0), "size must be positive, got 0"),
        (lambda: Classify(2, 3)(torch.zeros(1, 4, 3)), r"2 channels .* for Classify, got 3"),
        (lambda: Select(2)(torch.zeros(1, 4, 3, 5)), r"x must have 2 channels .* got 3"),
        (lambda: Select(2)(RaggedSets(torch.zeros(4), [4])), "elements with channels"),
        (lambda: select_loss(SCORES, torch.tensor([0, 3])), "target must index into its set"),
        (lambda: select_loss(SCORES, torch.tensor([0, -100])), "target must index into its set"),
        (lambda: select_loss(SCORES, torch.tensor([True, False])), "got torch.bool"),
        (lambda: select_loss(SCORES[:, :0], torch.tensor([0, 0])), "must not hold empty sets"),
        (lambda: Classify(2, 3)(torch.zeros(4, 2)), "x must have at least 3 axes"),
        (lambda: select_loss(SCORES, torch.tensor([0])), "target must be 2 integers, one per set"),
        (lambda: select_loss(SCORES, torch.zeros(2)), "target must be 2 integers"),
        (lambda: select_loss(SCORES[0], torch.tensor(0)), r"scores must be \(B, N\)"),
        (
            lambda: select_loss(SCORES, torch.tensor([0, 1]), reduction="avg"),
            "reduction must be one of",
        ),
        (
            lambda: select_loss(RaggedSets(torch.zeros(3), [1, 2]), torch.tensor([1, 0])),
            r"target must index into its set, got \[1, 0\] for sizes \(1, 2\)",
        ),
        (
            lambda: select_loss(RaggedSets(torch.zeros(3), [0, 3]), torch.tensor([0, 0])),
            "must not hold empty sets",
        ),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_another_map_may_take_the_place_of_the_first():
    class Quantised(nn.Identity):
        def weight(self):  # as in torch's own, where it is no tensor
            raise NotImplementedError

    head, x = Classify(2, 3, hidden=(4,)), torch.randn(2, 5, 2, 6)
    head.mlp = nn.Sequential(Quantised(), nn.Linear(2, 3))
    torch.testing.assert_close(head(x), head.mlp[1](x.mean(-1).sum(1)))


def test_widths_are_positive_and_listed():
    for make in (lambda: Classify(0, 3), lambda: Select(-1), lambda: Classify(3, 0)):
        with pytest.raises(ValueError, match="must be at least 1, got"):
            make()
    with pytest.raises(ValueError, match="hidden must be at least 1, got 0"):
        Select(3, hidden=(8, 0))
    with pytest.raises(TypeError, match="'int' object is not iterable"):
        Select(3, hidden=5)


def test_targets_may_be_any_integers():
    target = torch.tensor([0, 1], dtype=torch.int32)
    torch.testing.assert_close(select_loss(SCORES, target), torch.tensor(3.0).log())


def test_a_target_outside_its_set_is_never_looked_up_in_another_one(monkeypatch):
    scores = RaggedSets(torch.randn(5, requires_grad=True), [2, 3])
    monkeypatch.setattr("symsets.nn.loss._check_target", lambda *_: None)  # as on a GPU
    losses = select_loss(scores, torch.tensor([2, 1]), reduction="none")
    assert losses.isnan().tolist() == [True, False]


def test_flattened_entries_keep_their_place():
    x = torch.randn(2, 5, 3, 4, 2)
    classify, select = (Classify(24, 3, entries="flatten"), Select(24, entries="flatten"))
    torch.testing.assert_close(classify(x), Classify.forward(classify, x.flatten(2)))
    assert classify(x).shape == (2, 3)
    assert not torch.allclose(classify(x.flip(-1)), classify(x), atol=1e-3)
    ragged = RaggedSets(x.flatten(0, 1), [7, 0, 3])
    for head in (classify, select):
        rows = head(ragged)
        dense = head(ragged[0][None])
        torch.testing.assert_close(rows[0], dense[0])


def test_flattened_entries_need_one_shape():
    clouds = RaggedSets.from_list([[torch.randn(4, 3), torch.randn(2, 3)]])
    with pytest.raises(ValueError, match=r"pool must be one of .* got 'flatten'"):
        Classify(3, 2, entries="flatten")(clouds)
    with pytest.raises(ValueError, match=r"x must have 8 channels .* got 12"):
        Classify(8, 2, entries="flatten")(torch.zeros(2, 5, 3, 4))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_losses_of_half_precision_are_taken_in_float32(dtype):
    scores, target = torch.randn(64, 50).to(dtype), torch.randint(50, (64,))
    ragged = RaggedSets(scores.flatten(), [50] * 64)
    dense = select_loss(scores, target, reduction="none")
    assert dense.dtype == torch.float32
    assert dense.allclose(select_loss(ragged, target, reduction="none"), atol=1e-5)
