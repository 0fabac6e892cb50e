"""Additions in memory that is already there: fresh pages cost more than the addition."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn.modules.module import _global_forward_hooks

from symsets._kernels import TYPES, kernels
from symsets._plain import is_transformed

__all__ = ["LARGE", "add_into", "makes_new_memory", "new_memory", "no_view", "own_gradient"]

LARGE = 1024  # numbers of an element for which torch's broadcasting is slow on a GPU
FEW = 2**17  # numbers for which new memory takes less time than to do without
Map = TypeVar("Map", bound=type[nn.Module])

_MAPS: dict[type[nn.Module], Callable[..., Any]] = {
    kind: kind.forward for kind in (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
}


def new_memory(kind: Map) -> Map:
    """Declare that maps of this class return new memory that their backward pass can do without."""
    _MAPS[kind] = kind.forward
    return kind


def makes_new_memory(module: nn.Module) -> bool:
    """Whether nobody else holds what ``module`` returns: no input, no hook, no backward pass.

    So it is for the linear maps of torch and for classes marked by :func:`new_memory`; not for
    classes derived from them, which may do anything.

    Example:
        >>> makes_new_memory(nn.Linear(2, 3)), makes_new_memory(nn.ReLU())
        (True, False)
    """
    if torch.compiler.is_compiling():  # the compiler plans memory itself
        return False
    kind = type(module)
    hooked = module._forward_hooks or _global_forward_hooks or "forward" in vars(module)
    return kind in _MAPS and kind.forward is _MAPS[kind] and not hooked


def add_into(y: Tensor, other: Tensor) -> Tensor:
    """Return ``y + other``, with the same gradients, in the memory of ``y``.

    Nobody else may hold this memory (see :func:`makes_new_memory`), and ``other`` must broadcast
    to the shape of ``y``.

    Example:
        >>> add_into(torch.zeros(3, 2), torch.tensor([1.0, 2.0]))[0]
        tensor([1., 2.])
    """
    # First: to a compiler a question about sizes would be a condition on them.
    if is_transformed() or y.numel() < FEW or torch.result_type(y, other) != y.dtype:
        return y + other
    # A backward pass through a view changed in place copies the gradient: make it look like none.
    y = no_view(y)
    return _add_message(y, other) if _suits_kernel(y, other) else y.add_(other)


def _suits_kernel(y: Tensor, other: Tensor) -> bool:
    """Whether ``other`` is a message to sets of large elements, all without gaps in memory."""
    if forward_ad._current_level >= 0 or is_transformed(y, other) or _kernels_for(y) is None:
        return False
    return (
        y.ndim > 2
        and other.shape == (len(y), 1, *y.shape[2:])
        and other.numel() >= LARGE * len(y) > 0
        and y.dtype == other.dtype
        and y.dtype in TYPES
        and y.is_contiguous()
        and other.is_contiguous()
    )


def _kernels_for(y: Tensor) -> ModuleType | None:
    return kernels("messages") if y.is_cuda else None


class _AddMessage(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, y: Tensor, message: Tensor) -> Tensor:
        ours: Any = _kernels_for(y)
        ours.add(y, message)
        ctx.mark_dirty(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None]:
        return grad, grad.sum(1, keepdim=True) if ctx.needs_input_grad[1] else None


_add_message: Callable[[Tensor, Tensor], Tensor] = _AddMessage.apply


def own_gradient(x: Tensor) -> Tensor:
    """Return ``x``, for a map that does not change it in place.

    Autograd adds up the gradients of a tensor in the memory of the first one to arrive, unless it
    is a view or somebody else holds it. What passes through here is not a view.
    """
    if is_transformed() or x.numel() < FEW or not (x.requires_grad and torch.is_grad_enabled()):
        return x
    return _own_gradient(x)


class _OwnGradient(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return no_view(grad)

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Tensor:
        return tangent.view_as(tangent)


_own_gradient: Callable[[Tensor], Tensor] = _OwnGradient.apply


def no_view(x: Tensor) -> Tensor:
    """Return ``x`` as a tensor that shares its memory without being a view for autograd."""
    return torch.ops.aten._unsafe_view(x, x.shape)
