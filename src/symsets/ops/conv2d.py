"""Convolutions of images, whose three channels are too few for the matrix units of a GPU."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from symsets.ops._dispatch import fast

__all__ = ["MULTIPLE", "conv2d"]

MULTIPLE = 8  # of channels that the matrix units of GPUs are made for


def conv2d(
    x: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int], padding: Sequence[int]
) -> Tensor:
    """Convolve images ``x (T, C, H, W)`` with ``weight (C', C, h, w)``.

    The fast form is for training on a GPU where a number of channels is no multiple of eight, such
    as the three of a photograph: there cuDNN takes kernels that leave the matrix units idle. A
    kernel of one pixel, and one that reads given images (through which no gradient passes), become
    one matrix product of all channels in a window; others get channels of zeros.
    """
    more_out, more_in = (-channels % MULTIPLE for channels in weight.shape[:2])
    if not (more_in or more_out) or not torch.is_grad_enabled() or not fast("conv2d", x):
        return F.conv2d(x, weight, bias, stride, padding)
    if torch.is_autocast_enabled("cuda"):
        x = x.to(torch.get_autocast_dtype("cuda"))  # before it grows
    one_pixel = weight.shape[2:] == (1, 1) and not any(padding)
    if tuple(stride) == (1, 1) and (one_pixel or not x.requires_grad):
        return _by_product(x, weight, bias, padding)
    if more_in:
        x = F.pad(x, [0, 0, 0, 0, 0, more_in])
    weight = F.pad(weight, [0, 0, 0, 0, 0, more_in, 0, more_out])
    bias = None if bias is None else F.pad(bias, [0, more_out])
    y = F.conv2d(x, weight, bias, stride, padding)
    return y[:, : y.shape[1] - more_out]


def _by_product(x: Tensor, weight: Tensor, bias: Tensor | None, padding: Sequence[int]) -> Tensor:
    """Multiply the channels of each window with the weights; the result lies channels-last."""
    high, wide = weight.shape[2:]
    pixels = F.pad(x, [padding[1], padding[1], padding[0], padding[0]]).permute(0, 2, 3, 1)
    windows = pixels.unfold(1, high, 1).unfold(2, wide, 1).flatten(3)  # (T, H, W, C h w)
    matrix, out = weight.flatten(1), len(weight)
    more_out, more_in = (-size % MULTIPLE for size in matrix.shape)
    if more_in:
        windows = F.pad(windows, [0, more_in])
    matrix = F.pad(matrix, [0, more_in, 0, more_out])
    bias = None if bias is None else F.pad(bias, [0, more_out])
    return F.linear(windows, matrix, bias)[..., :out].permute(0, 3, 1, 2)
