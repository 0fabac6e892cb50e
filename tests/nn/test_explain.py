"""What layers and heads say of wrong input."""

import re

import pytest
import torch
from torch import nn

from symsets import (
    DSS,
    ConcatPool,
    RaggedSets,
    RemoveMean,
    Sequential,
    SetAttention,
    Siamese,
    Wreath,
    groups,
)
from symsets.nn import (
    AdjacencyLinear,
    CircularConv1d,
    Classify,
    EquivariantLinear,
    Exchangeable,
    Merge,
)


@pytest.mark.parametrize(
    ("context", "pool", "message"),
    [
        (nn.Linear(5, 4), "sum", r"pooled sets \(B, 3\), got a Linear for \(B, …, 5\)"),
        (nn.Sequential(nn.Linear(5, 4)), "max", r"got a Linear for \(B, …, 5\)"),
        (nn.Linear(3, 4), "power2", r"pooled sets \(B, 6\), got a Linear for \(B, …, 3\)"),
        (nn.Conv1d(3, 4, 1), "sum", r"got a Conv1d for \(B, 3, L\)"),
    ],
)
def test_a_context_that_does_not_take_pooled_sets_is_named(context, pool, message):
    with pytest.raises(ValueError, match=f"context must take .*{message}"):
        DSS(nn.Linear(3, 4), context, pool=pool)(torch.randn(2, 5, 3))


class TestElementsOfAnotherShape:
    @pytest.mark.parametrize(
        "layer", [DSS, Siamese, ConcatPool, RemoveMean, SetAttention, Wreath, Merge, Sequential]
    )
    @pytest.mark.parametrize(
        ("element", "shape", "wanted"),
        [
            (nn.Linear(3, 8), (2, 4, 5), r"\(B, N, …, 3\) for the Linear"),
            (nn.Conv1d(3, 8, 3), (2, 4, 5, 9), r"\(B, N, 3, L\) for the Conv1d"),
            (nn.Conv2d(3, 8, 3), (2, 4, 5, 9, 9), r"\(B, N, 3, H, W\) for the Conv2d"),
            (nn.Sequential(nn.Conv1d(3, 8, 3), nn.ReLU()), (2, 4, 5, 9), "for the Conv1d"),
        ],
    )
    def test_get_a_sentence_about_sets(self, layer, element, shape, wanted):
        x = torch.zeros(shape)
        message = rf"x must have shape .*{wanted} in {layer.__name__}, got "
        with pytest.raises(ValueError, match=message + re.escape(str(shape))):
            layer(element)(x)
        with pytest.raises(ValueError, match=message + r"RaggedSets\(2 sets of 3–5 elements \(5,"):
            layer(element)(RaggedSets(x.flatten(0, 1), [3, 5]))

    @pytest.mark.parametrize("dtype", [torch.float64, torch.uint8, torch.bfloat16])
    def test_may_also_be_of_another_type(self, dtype):
        x, message = torch.zeros(2, 4, 3).to(dtype), rf"torch.float32 like the Linear .*got {dtype}"
        for sets in (x, RaggedSets(x.flatten(0, 1), [3, 5])):
            with pytest.raises(TypeError, match=message):
                DSS(nn.Linear(3, 8))(sets)
        if dtype == torch.bfloat16:
            with torch.autocast("cpu", torch.bfloat16):
                assert DSS(nn.Linear(3, 8))(x).dtype == torch.bfloat16

    @pytest.mark.parametrize(
        ("layer", "shape"),
        [
            (CircularConv1d(3, 8, 3), (2, 3, 9)),
            (CircularConv1d(3, 8, 9), (2, 3, 9)),
            (Exchangeable(3, 8), (2, 3, 9)),
            (AdjacencyLinear(3, 8), (2, 3, 4, 4)),
            (EquivariantLinear(groups.Cyclic(4), 3, 8), (2, 3, 4)),
            (Classify(3, 8), (2, 4, 3, 9)),
            (Siamese(CircularConv1d(3, 8, 3)), (2, 4, 3, 9)),
        ],
    )
    def test_get_the_same_sentence_from_maps_of_our_own(self, layer, shape):
        with pytest.raises(TypeError, match=r"torch.float32 like the \w+.*got torch.float64"):
            layer(torch.zeros(shape, dtype=torch.float64))

    def test_are_noticed_where_torch_would_mix_the_elements(self):
        layer = Siamese(nn.Conv1d(6, 6, 3, padding=1))
        with pytest.raises(ValueError, match=r"shape \(B, N, 6, L\) .* got \(2, 3, 16\)"):
            layer(torch.randn(2, 3, 16))  # 6 rows: for torch, the channels of one element

    def test_are_for_the_map_to_judge_if_it_is_not_torchs_own(self):
        class Halved(nn.Linear):
            def forward(self, x):
                return super().forward(x[..., ::2])

        x = torch.zeros(2, 4, 6)
        hooked = nn.Linear(3, 8)
        hooked.register_forward_pre_hook(lambda module, inputs: (inputs[0][..., ::2],))
        for element in (Halved(3, 8), hooked, nn.LazyLinear(8)):
            assert Siamese(element)(x).shape == (2, 4, 8)

    @pytest.mark.filterwarnings("ignore")  # tracing is deprecated
    @pytest.mark.parametrize("layer", [Siamese, Sequential])
    def test_are_for_the_map_to_judge_if_it_was_traced(self, layer):
        linear, x = nn.Linear(3, 8), torch.randn(2, 4, 3)
        traced = torch.jit.trace(linear, torch.randn(5, 3))
        torch.testing.assert_close(layer(traced)(x), layer(linear)(x))

    @pytest.mark.parametrize("error", [RuntimeError("mine"), torch.OutOfMemoryError("all gone")])
    def test_are_not_blamed_for_other_errors(self, error):
        class Failing(nn.Linear):
            def forward(self, x):
                raise error

        with pytest.raises(type(error)) as caught:
            DSS(Failing(3, 8))(torch.zeros(2, 4, 3))
        assert caught.value is error


@pytest.mark.parametrize("x", [torch.zeros(2, 5), RaggedSets(torch.zeros(5), [2, 3])])
def test_elements_without_channels_are_named(x):
    maps = [nn.Identity() for _ in range(4)]
    for layer, name in ((ConcatPool(*maps[:1]), "element"), (SetAttention(*maps), "query")):
        with pytest.raises(ValueError, match=f"{name} must return elements with channels"):
            layer(x)


def test_a_map_that_returns_a_number_is_named():
    with pytest.raises(ValueError, match="one row per element, 10, got a single number"):
        Siamese(Total())(torch.zeros(2, 5, 3))


class Total(nn.Module):
    def forward(self, x):
        return x.sum()


def test_autocast_does_not_excuse_float64():
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(TypeError, match="x must be"):
        DSS(nn.Linear(3, 4))(torch.zeros(2, 5, 3, dtype=torch.double))
