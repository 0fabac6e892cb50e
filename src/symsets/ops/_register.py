"""Operators that torch knows by name, made of kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor


def operator(
    *,
    fake: Callable[..., Any],
    mutates: Sequence[str] = (),
    setup: Callable[..., None] | None = None,
    backward: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the operator ``symsets::NAME``, by the name of the function.

    So autograd, compilers and dispatch modes see one operator. ``torch.vmap`` applies it to one
    entry of the batch after the other. The derivatives of ``torch.func`` and of forward mode need
    the plain form.

    Args:
        fake: Returns an empty result of the right shape, layout and type.
        mutates: The names of arguments that are changed in place.
        setup: Keeps what the backward pass needs, as in ``torch.autograd.Function``.
        backward: The gradients of the arguments.
    """

    def register(run: Callable[..., Any]) -> Callable[..., Any]:
        name = f"symsets::{run.__name__.strip('_')}"
        made = torch.library.custom_op(name, run, mutates_args=mutates)
        made.register_fake(fake)
        made.register_vmap(lambda info, dims, *args: _one_by_one(made, info.batch_size, dims, args))
        if backward is not None:
            made.register_autograd(backward, setup_context=setup)
        return made

    return register


def _one_by_one(
    op: Callable[..., Any], size: int, dims: Sequence[int | None], args: Sequence[Any]
) -> tuple[Any, Any]:
    outputs = [
        op(*(a if d is None else a.select(d, k) for a, d in zip(args, dims, strict=True)))
        for k in range(size)
    ]
    if isinstance(outputs[0], Tensor):
        return torch.stack(outputs), 0
    stacked = tuple(torch.stack(part) for part in zip(*outputs, strict=True))
    return stacked, (0,) * len(stacked)


def plain_gradients(
    formula: Callable[..., Tensor], inputs: Sequence[Tensor | None], grad: Tensor
) -> list[Tensor | None]:
    """Return the gradients of a formula in torch, through which gradients can pass again.

    The backward pass of a kernel uses it where derivatives of derivatives are wanted.
    """
    with torch.enable_grad():
        y = formula(*inputs)
    wanted = [t for t in inputs if t is not None and t.requires_grad]
    found = iter(torch.autograd.grad(y, wanted, grad, create_graph=True))
    return [next(found) if t is not None and t.requires_grad else None for t in inputs]
