"""Convolutions of pictures, whose three channels are too few for the matrix units of a GPU."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from symsets.nn._memory import new_memory

__all__ = ["Conv2d"]

MULTIPLE = 8  # of channels that the matrix units of GPUs are made for


@new_memory
class Conv2d(nn.Conv2d):
    """:class:`torch.nn.Conv2d` whose channels are filled up with zeros on a GPU.

    Where their number is no multiple of eight, as for the three of a picture, cuDNN has been seen
    to take kernels that leave the matrix units of a GPU idle.

    Example:
        >>> Conv2d(3, 48, 3)
        Conv2d(3, 48, kernel_size=(3, 3), stride=(1, 1))
    """

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        more_in, more_out = -self.in_channels % MULTIPLE, -self.out_channels % MULTIPLE
        if self.groups != 1 or not (more_in or more_out) or not _fills(input):
            return super()._conv_forward(input, weight, bias)
        if torch.is_autocast_enabled(input.device.type):
            input = input.to(torch.get_autocast_dtype(input.device.type))  # before it grows
        if more_in:
            input = pad(input, [0, 0, 0, 0, 0, more_in])
        weight = pad(weight, [0, 0, 0, 0, 0, more_in, 0, more_out])
        if bias is not None:
            bias = pad(bias, [0, more_out])
        return super()._conv_forward(input, weight, bias)[:, : self.out_channels]


def _fills(x: Tensor) -> bool:
    return x.is_cuda
