"""Every scheme and every head as an exported program and in ONNX, with open numbers of sets.

Exported at one size and run at others: one element, one set, odd and even, more than before.
"""

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn
from torch.export import Dim, export

from symsets import RaggedSets, Sequential, lift, schemes, set_layer
from symsets.nn import (
    AttentionPool,
    Classify,
    Merge,
    Packed,
    Residual,
    Select,
    SetModule,
    SetNorm,
)
from symsets.sets import map_elements

SIZES = [(2, 4), (3, 5), (1, 1), (4, 1), (1, 6), (5, 9)]
RAGGED = [(2, 3, 1), (1,), (4, 2), (5, 1, 0, 3), (8, 8, 8), (1, 1)]
IMAGE = (3, 6, 6)


def on_vectors(layer, x):
    return layer(map_elements(x, lambda rows: rows.mean((2, 3))))


class Layers(nn.Module):
    """A layer on images, and one on vectors."""

    def __init__(self, scheme):
        super().__init__()
        conv = set_layer(scheme, lambda i, o: nn.Conv2d(i, o, 3, padding=1), 3, 4)
        self.images = Sequential(conv, nn.ReLU())
        self.vectors = Sequential(set_layer(scheme, nn.Linear, 4, 4), nn.ReLU())

    def forward(self, x):
        y = self.images(x)
        return [y, on_vectors(self.vectors, y)]


class Heads(nn.Module):
    """Every head on images, and on vectors."""

    def __init__(self):
        super().__init__()
        self.images = self.heads(nn.Conv2d(3, 2, 1))
        self.vectors = self.heads(nn.Linear(3, 2))

    @staticmethod
    def heads(merged):
        return nn.ModuleList([Classify(3, 2, hidden=(5,)), Select(3), Merge(merged)])

    def forward(self, x):
        return [head(x) for head in self.images] + [on_vectors(head, x) for head in self.vectors]


class ModernParts(nn.Module):
    """Residual blocks, normalisation of sets, pooling by attention, heads that keep the place."""

    def __init__(self, scheme):
        super().__init__()
        self.vectors = Sequential(
            nn.Conv2d(3, 4, 3, padding=1),
            Residual(
                SetNorm(4), nn.ReLU(), set_layer(scheme, lambda i, o: nn.Conv2d(i, o, 1), 4, 4)
            ),
            nn.AdaptiveAvgPool2d(2),
        )
        self.heads = nn.ModuleList(
            Classify(16, 2, entries="flatten", pool=AttentionPool(16, heads=2, gated=gated))
            for gated in (False, True)
        )

    def forward(self, x):
        y = self.vectors(x)
        return [head(y) for head in self.heads]


class Lifted(nn.Module):
    """A lifted network whose elements tell each other something."""

    def __init__(self, scheme):
        super().__init__()
        first = nn.Conv2d(3, 4, 3, padding=1)
        net = nn.Sequential(first, nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
        self.net = lift(net, scheme=scheme)
        for parameter in self.net.message_parameters():
            nn.init.normal_(parameter, std=0.1)  # messages start at zero

    def forward(self, x):
        return [self.net(x)]


class Several(SetModule):
    """Networks in one program, which is made much faster than one for each."""

    def __init__(self, nets):
        super().__init__()
        self.nets = nn.ModuleList(nets)

    def forward(self, x):
        outputs = [out for net in self.nets for out in net(x)]
        return [out.elements if isinstance(out, RaggedSets) else out for out in outputs]


def programs(net, example, dims):
    """Return the exported program and its ONNX form as functions of tensors."""
    exported = export(net.eval(), example, dynamic_shapes=dims)
    onnx = torch.onnx.export(exported, dynamo=True, verbose=False).model_proto
    session = onnxruntime.InferenceSession(onnx.SerializeToString())
    names = [given.name for given in session.get_inputs()]

    def run(*tensors):
        given = {name: tensor.numpy() for name, tensor in zip(names, tensors, strict=True)}
        return [torch.from_numpy(np.asarray(array)) for array in session.run(None, given)]

    return exported.module(), run


def assert_equal(net, programs, *example):
    expected = net(*example)
    for program in programs:
        for place, (a, b) in enumerate(zip(program(*example), expected, strict=True)):
            why = f"output {place}: {{}}".format
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5, msg=why)


ATTENTION = ("attention", "isab")
POOLED = ("siamese", "dss-sum", "dss-mean", "dss-max")
NETWORKS = {
    "pooling": lambda: map(Layers, POOLED),
    "attention": lambda: map(Layers, ATTENTION),
    "other schemes": lambda: map(Layers, sorted({*schemes()} - {*ATTENTION, *POOLED})),
    "parts": lambda: [Heads(), ModernParts("dss-mean")],
    "lifted": lambda: map(Lifted, ("dss-max", "attention", "wreath")),
}
pytestmark = [pytest.mark.slow, pytest.mark.no_cover]  # tracing a program is slow enough
quiet = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@quiet
@pytest.mark.parametrize("name", NETWORKS)
def test_dense_programs_keep_both_sizes_open(name):
    net = Several(NETWORKS[name]())
    dims = ({0: Dim("B", min=1), 1: Dim("N", min=1)},)
    found = programs(net, (torch.randn(2, 4, *IMAGE),), dims)
    with torch.no_grad():
        for size in SIZES:
            assert_equal(net, found, torch.randn(*size, *IMAGE))


@quiet
@pytest.mark.parametrize("name", NETWORKS)
def test_ragged_programs_take_other_sizes(name):
    net = Packed(Several(NETWORKS[name]()))
    dims = ({0: Dim("T", min=1)}, {0: Dim("B", min=1)})
    found = programs(net, (torch.randn(6, *IMAGE), torch.tensor(RAGGED[0])), dims)
    with torch.no_grad():
        for sizes in RAGGED:
            assert_equal(net, found, torch.randn(sum(sizes), *IMAGE), torch.tensor(sizes))


def test_a_program_made_with_ragged_sets_refuses_other_sizes():
    net = set_layer("dss-mean", nn.Linear, 3, 4)
    program = export(net, (RaggedSets(torch.randn(3, 3), [1, 2]),)).module()
    with pytest.raises(Exception, match=r"sizes|spec|partition|Partition"):
        program(RaggedSets(torch.randn(3, 3), [2, 1]))


def test_packed_sets_are_checked_outside_of_programs():
    net = Packed(set_layer("dss-mean", nn.Linear, 3, 4))
    with pytest.raises(ValueError, match="sizes must add up"):
        net(torch.randn(3, 3), torch.tensor([1, 1]))


class Both(nn.Module):
    """A network for one element with more than one output."""

    def __init__(self):
        super().__init__()
        self.map = nn.Linear(3, 4)

    def forward(self, x):
        y = self.map(x)
        return {"map": y, "more": (y.relu(),)}


def test_ragged_outputs_become_rows_wherever_they_are():
    net = Packed(lift(Both(), "dss-mean"))
    example = torch.randn(5, 3), torch.tensor([2, 3])
    dims = ({0: Dim("T", min=1)}, {0: Dim("B", min=1)})
    program = export(net, example, dynamic_shapes=dims).module()
    for given in (example, (torch.randn(9, 3), torch.tensor([1, 2, 6]))):
        found, expected = program(*given), net(*given)
        torch.testing.assert_close(found["map"], expected["map"])
        torch.testing.assert_close(found["more"], expected["more"])
