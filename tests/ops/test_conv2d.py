"""Convolutions whose channels are filled up with zeros give the same."""

import pytest
import torch
from torch.nn.functional import conv2d
from torch.overrides import TorchFunctionMode

from symsets import ops

LAYOUTS = [torch.contiguous_format, torch.channels_last]


class Watch(TorchFunctionMode):
    """Note the shapes of the weights that torch convolves with, and the types of what is filled."""

    def __init__(self):
        super().__init__()
        self.weights, self.filled = [], []

    def __torch_function__(self, fn, types, args=(), kwargs=None):
        if fn is conv2d:
            self.weights.append(tuple(args[1].shape[:2]))
        if fn is torch.nn.functional.pad and args[0].ndim == 4:
            self.filled.append(args[0].dtype)
        return fn(*args, **(kwargs or {}))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("i", "o", "seen"),
    [(3, 16, (8, 16)), (16, 3, (16, 8)), (3, 5, (8, 8)), (8, 8, (8, 8)), (9, 8, (16, 8))],
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_filled_channels_change_nothing(i, o, seen, bias, layout, fast_forms):
    x = torch.randn(4, i, 6, 5).double().contiguous(memory_format=layout)
    weight = torch.randn(o, i, 3, 2).double().contiguous(memory_format=layout)
    rest = [torch.randn(o).double()] if bias else []

    def run(x, weight, bias=None):
        return ops.conv2d(x, weight, bias, (2, 1), (1, 0))

    with Watch() as watch:
        filled = derivatives(run, x, weight, *rest)
    with ops.plain("conv2d"):
        plain = derivatives(run, x, weight, *rest)
    torch.testing.assert_close(filled, plain, rtol=1e-9, atol=1e-9)
    assert watch.weights == [(seen[1], seen[0])]


def derivatives(fn, *inputs):
    inputs = [t.requires_grad_() for t in inputs]
    y = fn(*inputs)
    return [y, *torch.autograd.grad(y.pow(3).sum(), inputs)]


def test_channels_are_filled_for_training_alone(fast_forms):
    x, weight = torch.randn(2, 3, 5, 5), torch.randn(4, 3, 3, 3)
    with Watch() as watch:
        with torch.no_grad():
            ops.conv2d(x, weight, None, (1, 1), (0, 0))
        ops.conv2d(x, weight, None, (1, 1), (0, 0))
    assert watch.weights == [(4, 3), (8, 8)]


def test_under_autocast_the_picture_is_cast_before_it_grows(fast_forms, monkeypatch):
    real = torch.is_autocast_enabled, torch.get_autocast_dtype
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: real[0]("cpu"))
    monkeypatch.setattr(torch, "get_autocast_dtype", lambda kind: real[1]("cpu"))
    x, weight = torch.randn(2, 3, 5, 5), torch.randn(8, 3, 3, 3)
    with torch.autocast("cpu", torch.bfloat16), Watch() as watch:
        y = ops.conv2d(x, weight, None, (1, 1), (0, 0))
    assert y.dtype == torch.bfloat16
    assert watch.filled == [torch.bfloat16, torch.float32]  # the picture, the weight
