"""What layers and heads say of wrong input."""

import copy
import re

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

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
    lift,
)
from symsets.nn import (
    AdjacencyLinear,
    CircularConv1d,
    Classify,
    EquivariantLinear,
    Exchangeable,
    Merge,
    NormAct,
    Select,
)


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


# Every set layer and head


def conv(i, o=4):
    return nn.Conv1d(i, o, 3)


LAYERS = {
    "Siamese": Siamese(conv(3)),
    "DSS": DSS(conv(3)),
    "DSS of maxima": DSS(conv(3), pool="max"),
    "DSS of power sums": DSS(conv(3), pool="power2"),
    "DSS that pools last": DSS(conv(3), pool_last=True),
    "ConcatPool": ConcatPool(conv(3)),
    "RemoveMean": RemoveMean(conv(3)),
    "SetAttention": SetAttention(conv(3)),
    "Wreath": Wreath(conv(3)),
    "Merge": Merge(conv(3)),
    "Sequential": Sequential(conv(3), DSS(conv(4))),
    "Sequential of layers": Sequential(DSS(conv(3)), nn.ReLU(), Classify(4, 2)),
    "NormAct": NormAct(DSS(conv(3)), nn.BatchNorm1d(4), nn.ReLU()),
    "NormAct of another layer": NormAct(ConcatPool(conv(3)), nn.BatchNorm1d(8)),
    "lifted": lift(nn.Sequential(conv(3), nn.ReLU())),
}
HEADS = {
    "Classify": Classify(3, 2),
    "Classify with layers": Classify(3, 2, hidden=(5,), pool="max", entries="max"),
    "Classify of power sums": Classify(3, 2, pool="power2"),
    "Select": Select(3),
    "Select with layers": Select(3, hidden=(5,), pool="mean"),
}
RIGHT = torch.randn(2, 5, 3, 9)


def ragged(x):
    return RaggedSets(x.flatten(0, 1), [3, 7])


WRONG = {  # what is given, and what layers and heads say of it
    "no tensor": (None, r"x must be a tensor or RaggedSets, got NoneType", None),
    "a list": ([RIGHT], r"got list: RaggedSets.from_list makes sets of a list", None),
    "a number": (torch.tensor(1.0), r"x must have .* got shape \(\)", None),
    "one axis": (torch.zeros(9), r"x must have .* got shape \(9,\)", None),
    "other channels": (
        torch.zeros(2, 5, 4, 9),
        r"\(B, N, 3, L\) for the Conv1d .*got \(2, 5, 4, 9\)",
        r"x must have 3 channels \(first axis of an element\) for \w+, got 4",
    ),
    "other channels, ragged": (
        ragged(torch.zeros(2, 5, 4, 9)),
        r"\(B, N, 3, L\) for the Conv1d .*got RaggedSets\(2 sets of 3–7 elements \(4, 9\)\)",
        r"x must have 3 channels \(first axis of an element\) for \w+, got 4",
    ),
    "another type": (
        RIGHT.double(),
        r"x must be torch.float32 like the Conv1d.*, got torch.float64",
        r"x must be torch.float32 like the Linear in \w+, got torch.float64",
    ),
}


@pytest.mark.parametrize("why", WRONG)
@pytest.mark.parametrize("name", [*LAYERS, *HEADS])
def test_wrong_input_gets_a_sentence_about_sets(name, why):
    x, of_layers, of_heads = WRONG[why]
    message = (of_heads or of_layers) if name in HEADS else of_layers
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        (LAYERS | HEADS)[name](x)
    cause = caught.value.__cause__
    assert cause is not None
    assert cause is not caught.value


@pytest.mark.parametrize("x", [RIGHT, ragged(RIGHT), RIGHT[:1, :1]], ids=["dense", "ragged", "one"])
@pytest.mark.parametrize("name", [*LAYERS, *HEADS])
def test_right_input_is_not_looked_at(name, x, monkeypatch):
    def look(self, x):
        raise AssertionError("a right call must not be checked")

    layer = (LAYERS | HEADS)[name]
    for part in layer.modules():
        if hasattr(type(part), "check_input"):
            monkeypatch.setattr(type(part), "check_input", look)
    layer(x)


@pytest.mark.parametrize("x", [RIGHT, ragged(RIGHT)], ids=["dense", "ragged"])
@pytest.mark.parametrize("name", [*LAYERS, *HEADS])
def test_a_checkpoint_has_the_gradients_of_the_layer(name, x):
    # It ends the second forward pass by an exception, which must not be taken for a wrong shape.
    layer, found = copy.deepcopy((LAYERS | HEADS)[name]), []
    for call in (layer, lambda sets: checkpoint(layer, sets, use_reentrant=False)):
        rows = (x if isinstance(x, torch.Tensor) else x.elements).clone().requires_grad_()
        y = call(rows if isinstance(x, torch.Tensor) else x.with_elements(rows))
        (y.elements if isinstance(y, RaggedSets) else y).square().sum().backward()
        found.append(rows.grad)
    torch.testing.assert_close(*found)


class EnoughError(Exception):
    """Ends a forward pass whose rest nobody needs."""


def test_an_exception_that_is_a_signal_passes_through():
    def stop(module, args, output):
        raise EnoughError

    for net in (
        Sequential(DSS(conv(3)), nn.ReLU()),
        NormAct(DSS(conv(3)), nn.ReLU()),
        lift(nn.Sequential(conv(3), nn.ReLU())),
    ):
        last = next(part for part in net.modules() if isinstance(part, nn.ReLU))
        last.register_forward_hook(stop)
        with pytest.raises(EnoughError):
            net(RIGHT)


# A batch (2, 3, …) for 6 channels: torch would take the set axis for the channels of one element.
SILENT = {
    "Conv1d": (nn.Conv1d(6, 6, 3, padding=1), (2, 3, 9), "6, L"),
    "Conv2d": (nn.Conv2d(6, 6, 3, padding=1), (2, 3, 9, 9), "6, H, W"),
    "Conv3d": (nn.Conv3d(6, 6, 3, padding=1), (2, 3, 5, 5, 5), "6, D, H, W"),
    "transposed": (nn.ConvTranspose2d(6, 6, 3, padding=1), (2, 3, 9, 9), "6, H, W"),
    "in a chain": (nn.Sequential(nn.Conv2d(6, 6, 1), nn.ReLU()), (2, 3, 9, 9), "6, H, W"),
}


@pytest.mark.parametrize("silent", SILENT)
@pytest.mark.parametrize(
    "layer",
    [
        *(DSS, Siamese, ConcatPool, RemoveMean, SetAttention, Wreath, Merge, Sequential),
        lambda element: NormAct(DSS(element), nn.InstanceNorm2d(6)),
    ],
)
def test_a_missing_set_axis_is_noticed_where_torch_would_mix_elements(layer, silent):
    element, shape, wanted = SILENT[silent]
    x = torch.randn(shape)
    assert element(x.flatten(0, 1)).shape[0] == 6  # torch says nothing
    message = re.escape(f"x must have shape (B, N, {wanted}) for the ")
    with pytest.raises(ValueError, match=message + r"\w+ in \w+, got " + re.escape(str(shape))):
        layer(element)(x)


@pytest.mark.parametrize("error", [ValueError("mine"), torch.OutOfMemoryError("mine")])
@pytest.mark.parametrize(
    "layer", [DSS, Siamese, ConcatPool, RemoveMean, SetAttention, Merge, Sequential]
)
def test_errors_of_a_map_of_your_own_pass_through(layer, error):
    class Mine(nn.Linear):
        def forward(self, x):
            raise error

    for element in (Mine(1, 1), nn.Sequential(conv(3), Mine(1, 1))):
        with pytest.raises(type(error)) as caught:
            layer(element)(RIGHT)
        assert caught.value is error
        assert error.__cause__ is None


@pytest.mark.parametrize("wrap", [Siamese, Sequential])
def test_a_layer_for_sequences_does_not_take_all_elements_for_one(wrap):
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    for x in (torch.randn(2, 5, 8), RaggedSets(torch.randn(5, 8), [2, 3])):
        with pytest.raises(IndexError, match="x must have at least 4 axes, got 3"):
            wrap(layer)(x)
    assert wrap(layer)(torch.randn(2, 5, 7, 8)).shape == (2, 5, 7, 8)
    with pytest.raises(ValueError, match="element must be made with batch_first=True"):
        wrap(nn.TransformerEncoderLayer(8, 2, 16))
