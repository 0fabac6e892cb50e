"""Maxima over windows: the fast form has the values of torch, and the first one the gradient."""

from importlib import import_module

import pytest
import torch
from torch import nn
from torch.nn.functional import max_pool2d

from symsets import Sequential, ops
from symsets.models._convolution import MaxPool2d
from symsets.nn import Siamese


def images(height, width, channels=3):
    x = torch.randint(-3, 4, (2, channels, height, width)).double()  # many ties
    return x.to(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    ("window", "height", "width"),
    [(1, 3, 2), (2, 8, 6), (2, 7, 9), (3, 3, 3), (5, 11, 14), (8, 16, 8), (15, 15, 16)],
)
def test_values_and_gradients_are_those_of_torch(window, height, width, agree):
    x = images(height, width)
    y = agree(lambda x: ops.max_pool(x, window), x)
    agree(lambda x: ops.max_pool(x, window, window), x)
    assert torch.equal(y, max_pool2d(x, window))
    assert y.is_contiguous(memory_format=torch.channels_last)


def test_the_first_of_several_maxima_has_the_gradient(fast_forms):
    x = torch.zeros(1, 3, 5, 4).to(memory_format=torch.channels_last).requires_grad_()
    with fast_forms.expected("maxima", "spread"):
        ops.max_pool(x, 2).sum().backward()
    assert x.grad[0, 0].nonzero().tolist() == [[0, 0], [0, 2], [2, 0], [2, 2]]


def test_an_infinite_gradient_stays_where_it_is(fast_forms):
    x = images(3, 2).requires_grad_()
    y = ops.max_pool(x, 2)
    grad = torch.full_like(y, torch.inf, requires_grad=True)
    (of_x,) = torch.autograd.grad(y, x, grad, create_graph=True)
    assert not of_x.isnan().any()
    assert of_x.isinf().sum() == y.numel()


LEFT_TO_TORCH = {
    "overlap": (images(9, 9).float(), 3, 2),
    "windows apart": (images(16, 16).float(), 2, 8),
    "channels first": (images(8, 8).float().contiguous(), 2, None),
    "one image": (images(8, 8).float()[0], 2, None),
    "no images": (images(8, 8).float()[:0], 2, None),
    "float64": (images(8, 8), 2, None),
    "large windows": (images(16, 16).float(), 16, None),
    "many channels": (images(2, 2, 2049).float(), 2, None),
}


@pytest.mark.parametrize("why", LEFT_TO_TORCH)
def test_what_kernels_do_not_do_is_left_to_torch(why, fast_forms, three_types):
    x, window, stride = LEFT_TO_TORCH[why]
    assert torch.equal(ops.max_pool(x, window, stride), max_pool2d(x, window, stride))
    assert fast_forms.calls == []


def test_more_pixels_than_can_be_counted_are_left_to_torch(fast_forms, monkeypatch):
    module = import_module("symsets.ops.max_pool")
    for most, kernels in ((2 * 8 * 8, ["maxima"]), (2 * 8 * 8 - 1, [])):
        monkeypatch.setattr(module, "MOST_PIXELS", most)
        with fast_forms.expected(*kernels):
            ops.max_pool(images(8, 8), 2)


def test_windows_larger_than_the_image_get_the_sentence_of_torch(fast_forms):
    with pytest.raises(RuntimeError, match="Output size is too small"):
        ops.max_pool(images(3, 8), 4)


@pytest.mark.parametrize("stride", [None, 2, 3])
def test_the_module_pools_sets_as_that_of_torch(stride, fast_forms):
    x = images(9, 8).unflatten(0, (1, 2))
    ours, torchs = MaxPool2d(2, stride), nn.MaxPool2d(2, stride)
    with fast_forms.expected(*(["maxima"] if stride != 3 else [])):
        y = Sequential(Siamese(nn.Identity()), ours)(x)
    assert torch.equal(y, torchs(x.flatten(0, 1)).unflatten(0, (1, 2)))
