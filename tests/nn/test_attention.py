import pytest
import torch
from torch import nn

from symsets import DSS, RaggedSets, SetAttention, set_layer
from symsets.nn import AttentionPool, InducedAttention
from symsets.sets import fold
from symsets.testing import assert_equivariant, equivariance_error

no_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
cuda = pytest.param("cuda", marks=[pytest.mark.gpu, no_cuda])


@pytest.mark.parametrize("heads", [1, 2])
def test_pictures_lie_in_memory_as_they_did(heads):
    torch.manual_seed(0)
    layer = SetAttention(nn.Conv2d(4, 6, 1), heads=heads).double()
    x = torch.randn(3, 5, 4, 8, 9, dtype=torch.float64)
    last = x.permute(0, 1, 3, 4, 2).contiguous().permute(0, 1, 4, 2, 3)
    gradients = []
    for each in (x, last):
        found = layer(each.requires_grad_())
        gradients.append(torch.autograd.grad(found.sin().sum(), [each, *layer.parameters()]))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)
    torch.testing.assert_close(layer(last), layer(x))
    assert layer(last).permute(0, 1, 3, 4, 2).is_contiguous()
    assert layer(x).is_contiguous()


def test_attention_copies_no_pictures_with_channels_last():
    layer = SetAttention(nn.Conv2d(4, 6, 1)).to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 8, 9, 4).permute(0, 1, 4, 2, 3)
    with torch.no_grad(), torch.profiler.profile() as seen:
        layer(x)
    assert "aten::clone" not in {event.key for event in seen.key_averages()}


@pytest.mark.parametrize("compare", ["element", "summary"])
def test_weights_are_what_values_are_mixed_with(compare):
    layer = SetAttention(nn.Conv1d(2, 4, 1), heads=2, compare=compare).double()
    x = torch.randn(3, 5, 2, 7, dtype=torch.float64)
    weights = layer.weights(x)  # (B, h, N, N)
    value = layer.value(x.flatten(0, 1)).unflatten(0, (3, 5)).unflatten(2, (2, 2))
    mixed = torch.einsum("bhij,bjhcl->bihcl", weights, value).flatten(2, 3)
    torch.testing.assert_close(layer.message(x), mixed)
    ragged = layer.weights(RaggedSets(x.flatten(0, 1)[:9], [5, 0, 4]))
    assert [tuple(w.shape) for w in ragged] == [(2, 5, 5), (2, 0, 0), (2, 4, 4)]
    torch.testing.assert_close(ragged[0], weights[0])
    torch.testing.assert_close(ragged[2], layer.weights(x[1:2, :4])[0])


def test_maps_without_a_reset_say_which_arguments_to_pass():
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.randn(3))

    rule = "reset_parameters draws new weights, Scale has none that does: give it one, or pass"
    with pytest.raises(ValueError, match=f"{rule} value=, query= and key= yourself"):
        SetAttention(Scale())
    with pytest.raises(ValueError, match=f"{rule} value=, query= and key= yourself"):
        SetAttention(Scale(), Scale(), Scale())
    with pytest.raises(ValueError, match=f"{rule} context= yourself"):
        DSS(Scale())


def test_weights_follow_the_formula():
    layer = SetAttention(nn.Conv1d(2, 4, 1), heads=2)
    x = torch.randn(1, 3, 2, 5)
    q, k, v = (part(x[0]).unflatten(1, (2, 2)) for part in (layer.query, layer.key, layer.value))
    scores = torch.einsum("ihcl,jhcl->hij", q, k) / 10**0.5
    mixed = torch.einsum("hij,jhcl->ihcl", scores.softmax(-1), v).flatten(1, 2)
    torch.testing.assert_close(layer(x)[0], layer.element(x[0]) + mixed)


def test_summaries_ignore_where_things_are():
    conv = nn.Conv1d(2, 4, 3, padding=1, padding_mode="circular")
    layer = SetAttention(conv, compare="summary")
    x = torch.randn(1, 3, 2, 6)
    shifted = x.clone()
    shifted[:, 0] = x[:, 0].roll(2, -1)
    value_of_last = layer(x)[:, 2] - layer(shifted)[:, 2]
    assert value_of_last.mean().abs() < 1e-5


@pytest.mark.parametrize("compare", ["element", "summary"])
def test_both_comparisons_keep_the_symmetry(compare):
    conv = nn.Conv2d(2, 4, 3, padding=1, padding_mode="circular")
    layer = SetAttention(conv, compare=compare, heads=2)
    error = equivariance_error(
        layer, torch.randn(2, 3, 2, 4, 4), symmetry=lambda x: x.roll((1, 2), (-2, -1))
    )
    assert error < 1e-9


def test_an_empty_chain_is_an_identity_and_no_missing_part():
    identity = nn.Sequential()
    layer = SetAttention(nn.Linear(2, 2), identity, identity, identity)
    assert layer.value is layer.query is layer.key is identity


def test_a_batch_of_empty_sets_is_fine():
    out = SetAttention(nn.Linear(2, 4))(RaggedSets(torch.zeros(0, 2), [0, 0]))
    assert out.elements.shape == (0, 4)


def test_attention_of_large_elements_fits_into_float16():
    maps = [nn.Identity() for _ in range(4)]
    x = torch.full((1, 2, 64, 64), 8.0)
    assert torch.equal(SetAttention(*maps)(x.half()).float(), SetAttention(*maps)(x))


@pytest.mark.parametrize(
    ("layer", "formula"),
    [
        (SetAttention(nn.Linear(1, 1)), "softmax_j ⟨query(x_i), key(x_j)⟩ value(x_j)"),
    ],
)
def test_repr_shows_the_formula(layer, formula):
    assert formula in repr(layer)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: SetAttention(nn.Linear(1, 1), compare="dot"),
            ValueError,
            r"compare must be one of \['element', 'summary'\], got 'dot'",
        ),
        (lambda: SetAttention(nn.Linear(1, 1), heads=0), ValueError, "heads must be at least 1"),
        (
            lambda: SetAttention(nn.Linear(1, 3), heads=2)(torch.zeros(1, 2, 1)),
            ValueError,
            "heads must divide the channels of query, 3, got 2",
        ),
        (lambda: SetAttention(nn.Linear(1, 1), heads=1.5), TypeError, "heads must be an integer"),
        (
            lambda: SetAttention(nn.Linear(1, 2), key=nn.Linear(1, 3))(torch.zeros(1, 2, 1)),
            ValueError,
            r"query and key must give outputs of one shape, got \(2,\) and \(3,\)",
        ),
    ],
)
def test_wrong_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_bias_of_the_key_would_change_nothing():
    layer, x = SetAttention(nn.Linear(3, 8), heads=2).double(), torch.randn(2, 5, 3).double()
    assert layer.key.bias is None
    before = layer(x)
    layer.key.bias = nn.Parameter(torch.randn(8).double())
    torch.testing.assert_close(layer(x), before)
    made = set_layer("attention", nn.Linear, 3, 8)
    assert made.key.bias is made.value.bias is None
    assert made.query.bias is not None


def test_shapes_of_ragged_sets_are_known_without_memory():
    layer = SetAttention(nn.Linear(3, 4)).to("meta")
    y = layer(RaggedSets(torch.randn(6, 3), [1, 3, 2]).to("meta"))
    assert y.elements.is_meta
    assert y.elements.shape == (6, 4)


@pytest.mark.parametrize("kind", [SetAttention, InducedAttention])
@pytest.mark.parametrize("options", [{"heads": 2}, {"compare": "summary"}])
@pytest.mark.parametrize("ragged", [False, True])
def test_points_with_channels_last_may_be_permuted(kind, options, ragged):
    x, perm = torch.randn(2, 5, 6, 3), torch.randperm(6)
    if ragged:
        x = RaggedSets(x.flatten(0, 1), [3, 7])
    layer = kind(nn.Linear(3, 8), **options)
    assert_equivariant(layer, x, symmetry=lambda points: points[:, perm])
    first = nn.Conv1d(3, 8, 1)
    alike = kind(first, **options)
    own = {
        name: w.unsqueeze(-1) if w.ndim == 2 and "points" not in name else w
        for name, w in layer.state_dict().items()
    }
    alike.load_state_dict(own)
    turned = x.map(lambda rows: rows.mT) if ragged else x.mT
    assert fold(alike(turned))[0].mT.allclose(fold(layer(x))[0], atol=1e-5)


@pytest.mark.parametrize("device", ["cpu", cuda])
def test_ragged_elements_may_have_another_type_than_what_autocast_mixes(device):
    x = RaggedSets(torch.randn(7, 4, device=device), [2, 5])
    pool, layer = AttentionPool(4).to(device), InducedAttention(nn.Linear(4, 4)).to(device)
    with torch.autocast(device, torch.bfloat16):
        assert pool(x).dtype == pool(torch.randn(2, 3, 4, device=device)).dtype
        assert layer(x).elements.isfinite().all()
