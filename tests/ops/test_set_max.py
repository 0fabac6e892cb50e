"""Maxima over sets: the fast form has the values and gradients of torch, shared between ties."""

import pytest
import torch
from torch import nn

from symsets import DSS, RaggedSets, ops, pool
from symsets.nn import Merge


def ties(*shape):
    return torch.randint(-2, 3, shape).double()


LAYOUTS = {
    "vectors": lambda: ties(3, 4, 70),
    "channels last": lambda: ties(3, 4, 8, 9, 10).movedim(-1, 2),
    "channels first": lambda: ties(3, 4, 2, 7, 6),
    "entries first": lambda: ties(5, 3, 4, 64).movedim(0, -1),
    "one element": lambda: ties(3, 1, 70),
    "one set": lambda: ties(1, 4, 70),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_and_gradients_are_those_of_torch(layout, agree):
    x = LAYOUTS[layout]()
    top = agree(ops.set_max, x)
    assert torch.equal(top, x.amax(1))


def test_ties_share_the_gradient(fast_forms):
    x = torch.zeros(1, 4, 64, requires_grad=True)
    with fast_forms.expected("top", "share"):
        ops.set_max(x).sum().backward()
    assert torch.equal(x.grad, torch.full_like(x, 1 / 4))


def test_the_result_lies_in_memory_as_the_elements_do(fast_forms):
    x = LAYOUTS["channels last"]()
    assert ops.set_max(x).is_contiguous(memory_format=torch.channels_last)
    with ops.plain():
        assert ops.set_max(x).is_contiguous(memory_format=torch.channels_last)
    first = LAYOUTS["entries first"]()
    assert ops.set_max(first).movedim(-1, 0).is_contiguous()


def test_pools_layers_and_heads_take_it(fast_forms):
    x = torch.randn(2, 3, 4, 8, 8)
    for run in (
        lambda: pool(x, "max"),
        lambda: DSS(nn.Conv2d(4, 2, 3), pool="max")(x),
        lambda: Merge(nn.Conv2d(4, 2, 3), pool="max")(x),
        lambda: pool(RaggedSets(x.flatten(0, 1), [3, 3]), "max"),
    ):
        with fast_forms.expected("top"):
            run()


@pytest.mark.parametrize(
    "x",
    [
        ties(3, 4, 63).float(),
        ties(3, 4, 70),
        ties(3, 4, 70).int(),
        ties(3, 4, 140).float()[..., ::2],
        ties(3, 70, 4).float().transpose(1, 2),
        torch.zeros(0, 4, 70),
    ],
    ids=["small elements", "float64", "integers", "gaps", "elements side by side", "no sets"],
)
def test_others_are_left_to_torch(x, fast_forms, three_types):
    assert torch.equal(ops.set_max(x), x.amax(1))
    assert fast_forms.calls == []


def test_sets_of_different_sizes_and_empty_ones_are_left_to_torch(fast_forms):
    x = RaggedSets(torch.randn(5, 70), [2, 3, 0])
    assert torch.equal(pool(x, "max")[0], x[0].amax(0))
    assert not pool(torch.zeros(2, 0, 70), "max").any()
    assert fast_forms.calls == []
