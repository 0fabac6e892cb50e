"""Batch normalisation of a sum, with the activation after it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from symsets.ops._dispatch import kernel
from symsets.ops._register import operator, plain_gradients
from symsets.ops.triton import kernels

NORMS = {nn.BatchNorm1d: (3, 4), nn.BatchNorm2d: (5,), nn.BatchNorm3d: (6,)}  # axes of the sets
ROW_NORMS = (nn.BatchNorm1d, nn.SyncBatchNorm)
ACTIVATIONS = {nn.Identity: "none", nn.ReLU: "relu", nn.ELU: "elu"}
MOST_CHANNELS = 4096  # a program holds whole rows
MOST_ROWS = 2**31 - 2**23  # counted in 32 bits, up to one step beyond the last


def norm_act(y: Tensor, context: Tensor | None, norm: Any, act: nn.Module) -> Tensor:
    r"""Normalise what a set layer adds up, and apply the activation.

    .. math:: \operatorname{act}\bigl(\operatorname{norm}(y_i + c)\bigr)

    The fast form serves batch normalisation in training, where channels lie side by side in
    memory. It never writes the sum :math:`y_i + c`: with the backward pass it goes through memory
    eight times, the modules about sixteen times.

    Args:
        y: Elements ``(B, N, C, *E)``.
        context: What is added to all elements of a set, ``(B, C, *E)``, or None.
        norm: The normalisation of rows ``(T, C, *E)``.
        act: The activation.
    """
    if norm.training and kernel("norm_act", y) and y.ndim in NORMS.get(type(norm), ()):
        order = _channels_last(y)
        if order is not None and type(act) in ACTIVATIONS and _suits(y, context, norm):
            return _by_kernels(y, context, norm, act, order)
    total = y if context is None else y + context.unsqueeze(1)
    return torch.unflatten(act(_norm(total.flatten(0, 1), norm)), 0, y.shape[:2])


def _norm(rows: Tensor, norm: Any) -> Tensor:
    """Normalise; where entries ``(T, C, L)`` come first in memory, as rows ``(L T, C)``.

    Torch is fast for rows of channels, and slow for strides it does not know.
    """
    suits = rows.ndim == 3 and not rows.is_contiguous() and isinstance(norm, ROW_NORMS)
    if not suits or not rows.movedim(-1, 0).is_contiguous():
        return norm(rows)
    first = rows.movedim(-1, 0)
    return norm(first.flatten(0, 1)).unflatten(0, first.shape[:2]).movedim(0, -1)


def _channels_last(y: Tensor) -> list[int] | None:
    """Return the order of the axes in memory, if channels come last and there are no gaps."""
    entries = list(range(3, y.ndim))
    for order in ([0, 1, *entries, 2], [*entries, 0, 1, 2]):
        if y.permute(order).is_contiguous():
            return order
    return None


def _suits(y: Tensor, context: Tensor | None, norm: _BatchNorm) -> bool:
    own = [norm.weight, norm.bias, norm.running_mean, norm.running_var]
    return (
        y.shape[2] == norm.num_features <= MOST_CHANNELS
        and y.shape[2] < y.numel() <= MOST_ROWS * y.shape[2]  # torch refuses a single row
        and norm.affine
        and (norm.momentum is not None or not norm.track_running_stats)
        and all(t is None or (t.device == y.device and t.is_contiguous()) for t in own)
        and (context is None or (context.shape == y[:, 0].shape and context.dtype == y.dtype))
    )


def _by_kernels(
    y: Tensor, context: Tensor | None, norm: _BatchNorm, act: nn.Module, order: list[int]
) -> Tensor:
    lying = y.permute(order)
    place = order.index(1)
    shape = [y.shape[1], lying.shape[place + 1 : -1].numel()]  # N, inner
    if context is not None:
        inside = [k - (k > 1) for k in order if k != 1]  # the same order, without the set axis
        context = context.permute(inside).reshape(-1, norm.num_features).contiguous()
    rows = lying.reshape(-1, norm.num_features)
    if norm.track_running_stats and norm.num_batches_tracked is not None:
        norm.num_batches_tracked.add_(1)
    running = [norm.running_mean, norm.running_var] if norm.track_running_stats else []
    with torch.no_grad():
        given = None if context is None else context.detach()
        mean, scale = _batch_moments(
            rows.detach(), given, *shape, norm.eps, norm.momentum or 0.0, *(running or [None] * 2)
        )
    kind, alpha = ACTIVATIONS[type(act)], getattr(act, "alpha", 1.0)
    weights = norm.weight, norm.bias
    out = _norm_act(rows, context, *weights, mean, scale, *shape, norm.eps, kind, alpha)
    back = sorted(range(y.ndim), key=order.__getitem__)
    return out.view(lying.shape).permute(back)


def _formula(
    x: Tensor,
    context: Tensor | None,
    weight: Tensor,
    bias: Tensor,
    options: tuple[int, int, float, str, float],
) -> Tensor:
    """Compute the operator on rows in torch."""
    num, inner, eps, activation, alpha = options
    if context is not None:
        grouped = x.unflatten(0, (-1, num, inner))
        x = (grouped + context.unflatten(0, (-1, 1, inner))).flatten(0, 2)
    y = F.batch_norm(x, None, None, weight, bias, training=True, eps=eps)
    if activation == "none":
        return y
    return y.relu() if activation == "relu" else F.elu(y, alpha)


def _setup(ctx: Any, inputs: Sequence[Any], output: Tensor) -> None:
    *tensors, num, inner, eps, activation, alpha = inputs
    ctx.save_for_backward(*tensors)
    ctx.options = num, inner, eps, activation, alpha


def _backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    x, context, weight, bias, mean, scale = ctx.saved_tensors
    num, inner, eps, activation, alpha = ctx.options
    rest = [None] * 7
    if torch.is_grad_enabled():  # somebody wants gradients of gradients
        options = num, inner, eps, activation, alpha
        inputs = x, context, weight, bias
        return *plain_gradients(partial(_formula, options=options), inputs, grad), *rest
    given = x, context, weight, bias, mean, scale, num, inner, activation, alpha
    dx, dcontext, *of_weights = _norm_act_gradients(grad.contiguous(), *given)
    return dx, None if context is None else dcontext, *of_weights, *rest


@operator(
    fake=lambda x, *_: tuple(x.new_empty(x.shape[1], dtype=torch.float32) for _ in range(2)),
    mutates=("running_mean", "running_var"),
)
def _batch_moments(
    x: Tensor,
    context: Tensor | None,
    num: int,
    inner: int,
    eps: float,
    momentum: float,
    running_mean: Tensor | None,
    running_var: Tensor | None,
) -> tuple[Tensor, Tensor]:
    running = None if running_mean is None else (running_mean, running_var)
    return kernels("norm_act").moments(x, context, (num, inner), eps, momentum, running)


@operator(
    fake=lambda grad, x, context, weight, bias, *_: (
        torch.empty_like(x),
        x.new_empty(0) if context is None else torch.empty_like(context),
        torch.empty_like(weight),
        torch.empty_like(bias),
    )
)
def _norm_act_gradients(
    grad: Tensor,
    x: Tensor,
    context: Tensor | None,
    weight: Tensor,
    bias: Tensor,
    mean: Tensor,
    scale: Tensor,
    num: int,
    inner: int,
    activation: str,
    alpha: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    given = x, context, (num, inner), weight, bias, mean, scale, activation, alpha
    return kernels("norm_act").gradients(grad, *given)


@operator(fake=lambda x, *_: torch.empty_like(x), setup=_setup, backward=_backward)
def _norm_act(
    x: Tensor,
    context: Tensor | None,
    weight: Tensor,
    bias: Tensor,
    mean: Tensor,
    scale: Tensor,
    num: int,
    inner: int,
    eps: float,
    activation: str,
    alpha: float,
) -> Tensor:
    given = x, context, (num, inner), weight, bias, mean, scale, activation, alpha
    return kernels("norm_act").apply(*given)
