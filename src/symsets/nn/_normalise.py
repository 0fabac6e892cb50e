"""Batch normalisation, together with the activation after it where that is fast: on a GPU.

With torch's kernels for rows of channels, a training step of both passes thirteen times through
memory; with ours (``_kernels/norms.py``) eight times.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm
from torch.nn.modules.batchnorm import _BatchNorm

from symsets._kernels import TYPES, kernels
from symsets._plain import NORMS, is_bare, is_transformed
from symsets.nn._layout import entries_first
from symsets.sets import memory_order

__all__ = ["Normalised"]

MOST_CHANNELS = 4096  # of kernels that hold whole rows
MOST_ROWS = 2**31 - 2**23  # counted in 32 bits, up to one step beyond the last


class Normalised:
    """Apply batch normalisation, and perhaps an activation, in the layout that rows have."""

    def __init__(self, norm: _BatchNorm, activation: nn.Module | None) -> None:
        self.norm = norm
        self.activation = activation

    def __call__(self, x: Tensor) -> Tensor:
        if self._suits(x):
            order, back = memory_order(x)
            lying = x.permute(order)
            if order[-1] == 1 and lying.is_contiguous():
                rows = self._by_kernels(lying.flatten(0, -2))
                return rows.unflatten(0, lying.shape[:-1]).permute(back)
        y = self._by_torch(x)
        return y if self.activation is None else self.activation(y)

    def _suits(self, x: Tensor) -> bool:
        """Whether what the kernels do is all that is to be done, and nobody wants to see more."""
        norm = self.norm
        if not (isinstance(x, Tensor) and norm.training and type(norm) in NORMS):
            return False
        if is_transformed() or _kernels_for(x) is None:  # on a CPU nothing more is asked
            return False
        if not (is_bare(norm) and (self.activation is None or is_bare(self.activation))):
            return False
        own = [norm.weight, norm.bias, norm.running_mean, norm.running_var]
        held = [tensor for tensor in own if tensor is not None]
        if is_transformed(x, *held):
            return False
        norm._check_input_dim(x)
        return (
            x.dtype in TYPES
            and x.shape[1] == norm.num_features <= MOST_CHANNELS
            and x.numel() > x.shape[1]  # torch has a sentence for a single row
            and x.numel() <= MOST_ROWS * x.shape[1]
            and norm.affine
            and (norm.momentum is not None or not norm.track_running_stats)
            and all(tensor.dtype in (x.dtype, torch.float32) for tensor in held)
            and all(tensor.device == x.device and tensor.is_contiguous() for tensor in held)
        )

    def _by_kernels(self, rows: Tensor) -> Tensor:
        norm = self.norm
        if norm.track_running_stats and norm.num_batches_tracked is not None:
            norm.num_batches_tracked.add_(1)
        return _normalise(rows, norm.weight, norm.bias, norm, self.activation)

    def _by_torch(self, x: Tensor) -> Tensor:
        """Normalise; where entries come first they are rows, too, and hooks see ``(L T, C)``.

        Torch is fast for rows of channels, and slow for strides it does not know.
        """
        suits = type(self.norm) in (nn.BatchNorm1d, nn.SyncBatchNorm) and isinstance(x, Tensor)
        if not suits or not entries_first(x):
            return self.norm(x)
        rows = x.movedim(-1, 0)
        return self.norm(rows.flatten(0, 1)).unflatten(0, rows.shape[:2]).movedim(0, -1)


def _kernels_for(x: Tensor) -> ModuleType | None:
    return kernels("norms") if x.is_cuda else None


class _Normalise(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        norm: _BatchNorm,
        activation: nn.Module | None,
    ) -> Tensor:
        ours: Any = _kernels_for(x)
        tracked = norm.track_running_stats and norm.running_mean is not None
        running = (norm.running_mean, norm.running_var) if tracked else None
        statistics = ours.measure(x, norm.eps, norm.momentum or 0.0, running)
        ctx.save_for_backward(x, weight, bias, *statistics)
        ctx.eps, ctx.activation = norm.eps, activation
        return ours.normalise(x, weight, bias, *statistics, *_named(activation))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, bias, mean, scale = ctx.saved_tensors
        again = torch.is_grad_enabled()  # somebody wants gradients of gradients
        if again or is_transformed(grad):
            with torch.enable_grad():
                y = batch_norm(x, None, None, weight, bias, training=True, eps=ctx.eps)
                y = y if ctx.activation is None else ctx.activation(y)
            wanted = [t for t in (x, weight, bias) if t.requires_grad]
            found = iter(torch.autograd.grad(y, wanted, grad, create_graph=again))
            return (
                *(next(found) if t.requires_grad else None for t in (x, weight, bias)),
                None,
                None,
            )
        ours: Any = _kernels_for(x)
        given = grad.contiguous(), x, weight, bias, mean, scale
        return *ours.gradients(*given, *_named(ctx.activation)), None, None


_normalise: Callable[..., Tensor] = _Normalise.apply


def _named(activation: nn.Module | None) -> tuple[str, float]:
    """Return the name that kernels know an activation by, and its parameter."""
    if isinstance(activation, nn.ELU):
        return "elu", activation.alpha
    return ("none" if activation is None else "relu"), 1.0
