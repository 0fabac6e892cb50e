"""Convolution and max-pooling of pictures, by :mod:`symsets.ops`."""

from typing import Any

from torch import Tensor, nn

from symsets.ops import conv2d, max_pool
from symsets.ops.conv2d import MULTIPLE


def convolution(in_channels: int, out_channels: int, **options: Any) -> nn.Conv2d:
    """Return a convolution by :func:`symsets.ops.conv2d`, unless torch's own is as fast."""
    even = in_channels % MULTIPLE == 0 and out_channels % MULTIPLE == 0
    own = even and not options.get("bias", True)
    return (nn.Conv2d if own else Conv2d)(in_channels, out_channels, **options)


def zero_convolution(in_channels: int, out_channels: int) -> nn.Conv2d:
    """Return a 3×3 convolution that gives zeros at first."""
    made = convolution(in_channels, out_channels, kernel_size=3, padding=1)
    for parameter in made.parameters():
        nn.init.zeros_(parameter)
    return made


class Conv2d(nn.Conv2d):
    """:class:`torch.nn.Conv2d`, computed by :func:`symsets.ops.conv2d`."""

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        assert not isinstance(self.padding, str)
        return conv2d(input, weight, bias, self.stride, self.padding)


class MaxPool2d(nn.MaxPool2d):
    """:class:`torch.nn.MaxPool2d` of square windows (see :func:`symsets.ops.max_pool`)."""

    kernel_size: int
    stride: int

    def forward(self, input: Tensor) -> Tensor:
        return max_pool(input, self.kernel_size, self.stride)
