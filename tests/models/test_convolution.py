"""Convolutions with channels filled up: the same values and gradients, and the same module."""

import pytest
import torch
from torch import nn

from symsets import DSS
from symsets.models import _convolution
from symsets.models._convolution import Conv2d
from symsets.nn._memory import makes_new_memory


def outcome(module, x):
    x = x.detach().requires_grad_()
    y = module(x)
    grads = torch.autograd.grad(y.pow(3).sum(), [x, *module.parameters()])
    return [y, *grads]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("i", "o"), [(3, 16), (16, 3), (3, 5), (8, 8)])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_filled_channels_change_nothing(i, o, bias, layout, monkeypatch):
    conv = Conv2d(i, o, 3, padding=1, bias=bias).double().to(memory_format=layout)
    x = torch.randn(4, i, 6, 5).double().to(memory_format=layout)
    layer = DSS(conv)
    plain = outcome(conv, x), outcome(layer, x.unflatten(0, (2, 2)))
    seen = []
    monkeypatch.setattr(_convolution, "_fills", lambda x: True)
    monkeypatch.setattr(
        nn.Conv2d, "_conv_forward", spy(nn.Conv2d._conv_forward, lambda x, w: seen.append(w.shape))
    )
    filled = outcome(conv, x), outcome(layer, x.unflatten(0, (2, 2)))
    assert all(n % 8 == 0 for shape in seen for n in shape[:2])
    for a, b in zip([*filled[0], *filled[1]], [*plain[0], *plain[1]], strict=True):
        torch.testing.assert_close(a, b)


def spy(fn, note):
    def call(self, x, weight, bias):
        note(x, weight)
        return fn(self, x, weight, bias)

    return call


def test_under_autocast_the_picture_is_cast_before_it_grows(monkeypatch):
    seen = []
    monkeypatch.setattr(_convolution, "_fills", lambda x: True)
    monkeypatch.setattr(
        nn.Conv2d, "_conv_forward", spy(nn.Conv2d._conv_forward, lambda x, w: seen.append(x.dtype))
    )
    with torch.autocast("cpu", torch.bfloat16):
        assert Conv2d(3, 8, 3)(torch.randn(2, 3, 5, 5)).dtype == torch.bfloat16
    assert seen == [torch.bfloat16]


def test_it_is_taken_for_a_convolution_of_torch():
    assert makes_new_memory(Conv2d(3, 8, 3))
    with pytest.raises(ValueError, match="3"):
        DSS(Conv2d(3, 8, 3))(torch.randn(2, 4, 5, 8, 8))
