"""Max-pooling by kernels: the values and gradients of torch, the first of several maxima too."""

import numpy as np
import pytest
import torch
from symsets._kernels import kernels
from symsets.nn._applied import applied
from torch import nn
from torch.nn.functional import max_pool2d

from symsets.nn import DSS, Sequential, _maxima

no_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


class Plain:
    """What the kernels compute, in torch."""

    def __init__(self):
        self.calls = 0

    def maxima(self, x, window):
        self.calls += 1
        y, place = max_pool2d(x.permute(0, 3, 1, 2), window, return_indices=True)
        width = x.shape[2]
        which = (place // width % window) * window + place % width % window
        return y.permute(0, 2, 3, 1).contiguous(), which.permute(0, 2, 3, 1).to(torch.uint8)

    def spread(self, grad, which, height, width, window):
        return _maxima._spread(grad, which, height, width, window)


@pytest.fixture
def stand_in(monkeypatch):
    """Let CPUs have kernels."""
    plain = Plain()
    monkeypatch.setattr(_maxima, "_kernels_for", lambda x: plain)
    return plain


def images(height, width, channels=3, device="cpu", dtype=torch.float32):
    x = torch.randint(-3, 4, (2, channels, height, width), device=device).to(dtype)  # many ties
    return x.to(memory_format=torch.channels_last)


def outcome(apply, x):
    x = x.detach().requires_grad_()
    y = apply(x)
    weight = torch.linspace(-1, 1, y.numel(), device=y.device).view_as(y).to(y.dtype)
    return y, *torch.autograd.grad((y * weight).sum(), x)


SHAPES = [(2, 8, 6), (2, 7, 9), (5, 11, 11), (8, 16, 8)]


@pytest.mark.parametrize(("window", "height", "width"), SHAPES)
def test_values_and_gradients_are_those_of_torch(window, height, width, stand_in):
    x, pool = images(height, width), nn.MaxPool2d(window)
    ours = outcome(applied(pool), x)
    assert stand_in.calls == 1
    for a, b in zip(ours, outcome(pool, x), strict=True):
        assert torch.equal(a, b)
    assert ours[0].is_contiguous(memory_format=torch.channels_last)


def test_second_derivatives_are_those_of_torch(stand_in):
    x, pool = images(7, 6).requires_grad_(), nn.MaxPool2d(2)
    found = []
    for apply in (applied(pool), pool):
        (grad,) = torch.autograd.grad(apply(x).pow(3).sum(), x, create_graph=True)
        found.append(torch.autograd.grad(grad.square().sum(), x)[0])
    torch.testing.assert_close(*found)
    assert stand_in.calls == 1


def test_batches_of_gradients_are_those_of_torch(stand_in):
    x, pool = images(7, 6).requires_grad_(), nn.MaxPool2d(2)
    grads = torch.randn(5, *pool(x).shape)
    found = [
        torch.autograd.grad(apply(x), x, grads, is_grads_batched=True)[0]
        for apply in (applied(pool), pool)
    ]
    torch.testing.assert_close(*found)
    assert stand_in.calls == 1


def test_an_infinite_gradient_stays_where_it_is():
    which = torch.tensor([3], dtype=torch.uint8).view(1, 1, 1, 1)
    pixels = _maxima._spread(torch.full((1, 1, 1, 1), torch.inf), which, 3, 2, 2)
    assert pixels.flatten().tolist() == [0, 0, 0, torch.inf, 0, 0]


def test_sets_take_the_kernels_in_a_chain(stand_in):
    net = Sequential(DSS(nn.Conv2d(3, 4, 3)), nn.MaxPool2d(2)).to(memory_format=torch.channels_last)
    x = images(8, 8).unflatten(0, (1, 2))
    torch.testing.assert_close(net(x)[0], net[1](net[0](x)[0]))
    assert stand_in.calls == 1


class Derived(torch.Tensor):
    pass


UNSUITED = {
    "overlap": (nn.MaxPool2d(3, 2), images(9, 9)),
    "gaps": (nn.MaxPool2d(2, 8), images(16, 16)),
    "padding": (nn.MaxPool2d(2, padding=1), images(8, 8)),
    "rectangles": (nn.MaxPool2d((2, 4)), images(8, 8)),
    "half windows": (nn.MaxPool2d(2, ceil_mode=True), images(7, 7)),
    "channels first": (nn.MaxPool2d(2), images(8, 8).contiguous()),
    "one image": (nn.MaxPool2d(2), images(8, 8)[0]),
    "float64": (nn.MaxPool2d(2), images(8, 8).double()),
    "large windows": (nn.MaxPool2d(16), images(16, 16)),
    "another class": (nn.MaxPool2d(2), images(8, 8).as_subclass(Derived)),
}


@pytest.mark.parametrize("why", UNSUITED)
def test_other_poolings_are_left_to_torch(why, stand_in):
    pool, x = UNSUITED[why]
    assert torch.equal(applied(pool)(x), pool(x))
    assert stand_in.calls == 0


def test_more_pixels_than_can_be_counted_are_left_to_torch(stand_in, monkeypatch):
    monkeypatch.setattr(_maxima, "MOST_PIXELS", 2 * 8 * 8 - 1)
    applied(nn.MaxPool2d(2))(images(8, 8))
    assert stand_in.calls == 0


def test_windows_may_be_numbers_of_numpy(stand_in):
    pool, x = nn.MaxPool2d(np.int64(2)), images(8, 8)
    assert torch.equal(applied(pool)(x), pool(x))
    assert stand_in.calls == 1


def test_hooks_see_their_module(stand_in):
    pool, seen = nn.MaxPool2d(2), []
    pool.register_forward_hook(lambda module, inputs, output: seen.append(output.shape))
    applied(pool)(images(8, 8))
    assert seen == [(2, 3, 4, 4)]
    assert stand_in.calls == 0


def test_windows_larger_than_the_image_get_the_sentence_of_torch(stand_in):
    with pytest.raises(RuntimeError, match="Output size is too small"):
        applied(nn.MaxPool2d(4))(images(3, 8))


@pytest.mark.gpu
@no_cuda
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("channels", [5, 48])
@pytest.mark.parametrize(("window", "height", "width"), SHAPES)
def test_kernels_agree_with_torch(window, height, width, channels, dtype):
    assert kernels("pools") is not None
    x, pool = images(height, width, channels, "cuda", dtype), nn.MaxPool2d(window)
    x[0, 0, 1, 1] = torch.nan
    assert _maxima._suits(x, pool)
    for a, b in zip(outcome(applied(pool), x), outcome(pool, x), strict=True):
        assert torch.equal(a.isnan(), b.isnan())
        assert torch.equal(a.nan_to_num(), b.nan_to_num())
