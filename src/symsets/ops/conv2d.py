"""Convolutions of images, whose three channels are too few for the matrix units of a GPU."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from symsets.ops._dispatch import fast, kernel
from symsets.ops.add_bias import add_bias

MULTIPLE = 8  # of channels that the matrix units of GPUs are made for


def conv2d(
    x: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int], padding: Sequence[int]
) -> Tensor:
    """Convolve images ``x (T, C, H, W)`` with ``weight (C', C, h, w)``.

    The fast form, for training on a GPU, fills up channels with zeros to a multiple of eight. For
    other numbers, such as the three of a photograph, cuDNN takes kernels that leave the matrix
    units idle. In captured steps :func:`symsets.ops.add_bias` adds the bias.
    """
    more_out, more_in = (-channels % MULTIPLE for channels in weight.shape[:2])
    if not (more_in or more_out) or not torch.is_grad_enabled() or not fast("conv2d", x):
        return _convolved(x, weight, bias, stride, padding)
    if torch.is_autocast_enabled("cuda"):
        x = x.to(torch.get_autocast_dtype("cuda"))  # before it grows
    if more_in:
        x = F.pad(x, [0, 0, 0, 0, 0, more_in])
    weight = F.pad(weight, [0, 0, 0, 0, 0, more_in, 0, more_out])
    bias = None if bias is None else F.pad(bias, [0, more_out])
    y = _convolved(x, weight, bias, stride, padding)
    return y[:, : y.shape[1] - more_out]


def _convolved(
    x: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int], padding: Sequence[int]
) -> Tensor:
    if bias is None or not kernel("add_bias", x):
        return F.conv2d(x, weight, bias, stride, padding)
    return add_bias(F.conv2d(x, weight, None, stride, padding), bias)
