"""Fold sets into rows and back, so that layers need not tell dense batches from ragged ones."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, TypeAlias, Union

import torch
from torch import Tensor, nn

from symsets.ops._constants import outside_transforms
from symsets.ops.layout import memory_order
from symsets.sets.partition import Partition
from symsets.sets.ragged import RaggedSets, check_rows, not_sets

Sets: TypeAlias = Union[Tensor, RaggedSets]  # noqa: UP007 (mypy wants a plain alias here)


def check_sets(x: Any, rank: int = 2) -> None:
    """Raise ValueError or TypeError unless ``x`` is a batch of sets, with ``rank`` axes or more."""
    if not isinstance(x, Tensor | RaggedSets):
        raise TypeError(f"x must be a tensor or RaggedSets, got {not_sets(x)}")
    if x.ndim >= rank:
        return
    if isinstance(x, RaggedSets):
        raise ValueError(f"x must have elements with channels, (C, …), got {x}")
    axes = ", ".join(["batch", "set", "channels"][:rank])
    raise ValueError(f"x must have at least {rank} axes, ({axes}, …), got shape {tuple(x.shape)}")


def fold(x: Sets) -> tuple[Any, Callable[[Any], Any]]:
    """Return all elements as rows ``(T, *E)``, and the function that makes sets of such rows.

    Example:
        >>> rows, unfold = fold(torch.zeros(2, 5, 3))
        >>> rows.shape, unfold(rows).shape
        (torch.Size([10, 3]), torch.Size([2, 5, 3]))
    """
    if isinstance(x, RaggedSets):
        return x.elements, x.with_elements
    check_sets(x)
    return x.flatten(0, 1), partial(_unfold, size=x.shape[:2])


def _unfold(rows: Tensor, size: tuple[int, ...]) -> Tensor:
    try:
        if torch.compiler.is_exporting() and isinstance(rows.stride(0), torch.SymInt):
            # A view of a view, as dropout returns it, would fix the size of sets in a program.
            rows = rows.clone(memory_format=torch.contiguous_format)
        return torch.unflatten(rows, 0, size)  # the method of a tensor looks for names first
    except (RuntimeError, TypeError):
        check_rows(rows, size[0] * size[1])
        raise


def map_elements(x: Sets, fn: Callable[..., Any], *args: Any) -> Any:
    """Apply ``fn`` to every element of every set, as one batch of rows.

    Example:
        >>> map_elements(torch.zeros(2, 5, 3), torch.nn.Linear(3, 8)).shape
        torch.Size([2, 5, 8])
    """
    try:
        if isinstance(x, RaggedSets):
            return x.with_elements(fn(x.elements, *args))
        return _unfold(fn(x.flatten(0, 1), *args), x.shape[:2])
    except (AttributeError, IndexError, TypeError):
        check_sets(x)
        raise


def spread(summary: Tensor, x: Sets) -> Tensor:
    """Give every element the summary ``(B, *F)`` of its set, ready to meet the elements of ``x``.

    For a dense batch this is a view ``(B, 1, *F)`` that broadcasts; for a ragged one, rows
    ``(T, *F)``.
    """
    try:
        num = x.partition.num_sets if isinstance(x, RaggedSets) else x.shape[0]
        fits = summary.shape[0] == num
    except (AttributeError, IndexError):
        fits = False
    if not fits:
        check_sets(x)
        if not isinstance(summary, Tensor):
            raise TypeError(f"summary must be one tensor, got {type(summary).__name__}")
        got = tuple(summary.shape)
        raise ValueError(f"summary must have one row for each of {len(x)} sets, got {got}")
    if not isinstance(x, RaggedSets):
        return summary.unsqueeze(1)
    n = x.partition.common_size
    if n is None:
        return summary.index_select(0, x.partition.index)
    return summary.unsqueeze(1).expand(-1, n, *summary.shape[1:]).flatten(0, 1)


def add_to_elements(y: Any, message: Tensor, channel_axis: int = 1) -> Any:
    """Add a message, spread over the elements of ``y``, to all of them.

    A message may be the same for all entries of an element (axes of length 1), but not for all
    channels: then a map has the wrong number of them.

    Args:
        y: A batch of sets.
        message: ``(B, 1, *F)`` or ``(B, N, *F)`` for dense sets, rows ``(T, *F)`` for ragged ones.
        channel_axis: Which axis of ``(B, *F)`` holds the channels.
    """
    if not isinstance(y, RaggedSets):
        check_message(y.shape[2:], message.shape[2:], channel_axis)
        if y.is_contiguous() or not torch.is_grad_enabled():
            return y + message
        order, back = memory_order(y)  # then the gradient of the message is summed in this order
        return (y.permute(order) + message.permute(order)).permute(back)
    if isinstance(y.elements, RaggedSets):  # every point of an element gets the same message
        points = y.elements
        return y.with_elements(points.with_elements(points.elements + spread(message, points)))
    check_message(y.elements.shape[1:], message.shape[1:], channel_axis)
    return y.with_elements(y.elements + message)


def check_message(element: torch.Size, message: torch.Size, channel_axis: int) -> None:
    """Raise ValueError if torch would take one channel for all, or elements of another shape."""
    if element == message:
        return
    channels = (channel_axis - 1) % len(element) if channel_axis > 0 else channel_axis
    fits = len(element) == len(message) and element[channels] == message[channels]
    if not fits or any(m not in (1, e) for e, m in zip(element, message, strict=True)):
        raise ValueError(
            "element and context must give outputs of one shape, "
            f"got elements {tuple(element)} and {tuple(message)}"
        )


def membership(x: Sets) -> tuple[Tensor, Tensor]:
    """Return the set of each element ``(T,)`` and the size of each set ``(B,)``.

    Batches of one shape share both, so change neither in place.
    """
    if isinstance(x, RaggedSets):
        return x.partition.index, x.partition.sizes
    check_sets(x)
    traced = torch.compiler.is_compiling() or type(x) not in (Tensor, nn.Parameter)
    make = _partition.__wrapped__ if traced else _partition
    partition = make(x.shape[0], x.shape[1], x.device)
    return partition.index, partition.sizes


@lru_cache(maxsize=16)  # one object per shape, so that what is derived from it can be kept, too
def _partition(batch: int, size: int, device: torch.device) -> Partition:
    return outside_transforms(lambda: Partition([size] * batch, device))
