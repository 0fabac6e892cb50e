"""Attention between rows of sets, dense, ragged or in a program where sizes are open."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from symsets.sets import RaggedSets, Sets
from symsets.sets.partition import OpenPartition, Partition
from symsets.sets.ragged import common_rows

# Where channels stand in a batch of sets, (B, N, C, *E) or (B, N, *E, C), and heads beside them.
PLACES = {False: (2, 2), True: (-1, -2)}


def attend(query: Sets, key: Sets, value: Sets, *, heads: int = 1, channel_axis: int = 1) -> Tensor:
    """Return the mean of values for every query, with the weights of :func:`weights_of`.

    Each query sees the keys and values of its own set: a ragged part belongs to sets of different
    sizes, a dense one holds as many rows for each of them. A set without keys gives zeros.

    Shape:
        - query: ``(B, M, C, *E)`` or ragged.
        - key: ``(B, N, C, *E)`` or ragged.
        - value: ``(B, N, C', *F)`` or ragged.
        - output: ``(B, M, C', *F)``, or rows if queries are ragged.
    """

    def mix(query: Tensor, key: Tensor, value: Tensor, apart: Tensor | None = None) -> Tensor:
        weights = weights_of(query, key, heads=heads, apart=apart, channel_axis=channel_axis)
        last = _channels_last(value, channel_axis)
        v = _split(value, heads, "value", channel_axis, last)
        mixed = (weights.to(v.dtype) @ v.flatten(3)).unflatten(3, v.shape[3:])  # (B, h, M, …)
        place, heads_at = PLACES[last]
        joined = mixed.movedim(1, heads_at).flatten(heads_at, heads_at + 1)
        return joined.movedim(place, _with_sets(channel_axis))

    parts = (query, key, value)
    ragged = next((part for part in parts if isinstance(part, RaggedSets)), None)
    if ragged is None:
        return mix(query, key, value)  # type: ignore[arg-type]
    rows = [common_rows(part) if isinstance(part, RaggedSets) else part for part in parts]
    own = ragged.partition
    if own.common_size is not None:
        shape = (len(own), own.common_size)
        dense = [r if p is r else r.unflatten(0, shape) for p, r in zip(parts, rows, strict=True)]
        mixed = mix(*dense)
        return mixed.flatten(0, 1) if isinstance(query, RaggedSets) else mixed
    if isinstance(own, OpenPartition):
        return _attend_open(mix, parts, own)
    return _attend_by_size(mix, parts, rows, own)


def weights_of(
    query: Tensor,
    key: Tensor,
    *,
    heads: int = 1,
    apart: Tensor | None = None,
    channel_axis: int = 1,
) -> Any:
    """Return the softmax of inner products over whole elements, ``(B, heads, M, N)``.

    Args:
        query: ``(B, M, C, *E)``.
        key: ``(B, N, C, *E)``.
        heads: Groups of channels, each with its own weights.
        apart: Pairs ``(M, N)`` that must not see each other, if there are any.
        channel_axis: Which axis of a batch of elements ``(B, C, *E)`` holds the channels.
    """
    last = _channels_last(query, channel_axis)
    q = _split(query, heads, "query", channel_axis, last).flatten(3)
    k = _split(key, heads, "key", channel_axis, last).flatten(3)
    try:
        # Divided first: the inner product of large elements does not fit into float16.
        scores = q / math.sqrt(max(q.shape[-1], 1)) @ k.transpose(-1, -2)  # (B, h, M, N)
    except RuntimeError as error:
        if q.shape[-1] == k.shape[-1]:
            raise
        raise ValueError(
            "query and key must give outputs of one shape, "
            f"got {tuple(query.shape[2:])} and {tuple(key.shape[2:])}"
        ) from error
    if apart is None:
        return scores.softmax(-1)
    return scores.masked_fill(apart, -torch.inf).softmax(-1).masked_fill(apart, 0)


def each_weights(query: Sets, key: Sets, **options: Any) -> Any:
    """Return :func:`weights_of`; of ragged sets a list, ``(heads, M_i, N_i)`` for each."""
    if isinstance(query, Tensor) and isinstance(key, Tensor):
        return weights_of(query, key, **options)
    for part in (query, key):
        if isinstance(part, RaggedSets):
            common_rows(part)
    pairs = zip(query, key, strict=True)
    return [weights_of(q[None], k[None], **options)[0] for q, k in pairs]


def _with_sets(axis: int) -> int:
    """Return which axis of a batch of sets is this one of a batch of elements."""
    return axis + 1 if axis > 0 else axis


def _channels_last(x: Tensor, axis: int) -> bool:
    """Whether the channels of each entry lie side by side in memory."""
    return x.ndim > 3 and x.stride(_with_sets(axis)) == 1


def _split(x: Tensor, heads: int, name: str, channel_axis: int, last: bool) -> Tensor:
    """Split the channels into heads: ``(B, N, C, *E)`` to ``(B, h, N, C / h, *E)``.

    To ``(B, h, N, *E, C / h)`` if ``last``. Where the channels lie so in memory and there is one
    head, the numbers of an element follow each other, and nothing need be copied.
    """
    if x.ndim < 3:
        raise ValueError(f"{name} must return elements with channels, (C, …), got numbers")
    place, heads_at = PLACES[last]
    x = x.movedim(_with_sets(channel_axis), place)
    if x.shape[place] % heads:
        raise ValueError(f"heads must divide the channels of {name}, {x.shape[place]}, got {heads}")
    return x.unflatten(place, (heads, -1)).movedim(heads_at, 1)


def _attend_by_size(
    mix: Callable[..., Tensor], parts: tuple[Sets, ...], rows: list[Tensor], own: Partition
) -> Tensor:
    """Attend inside the sets of each size as one dense batch, then put rows back in order."""
    which = [sets for sets, _ in own.buckets]
    dense = [
        own.by_size(r) if isinstance(p, RaggedSets) else [r[sets] for sets in which]
        for p, r in zip(parts, rows, strict=True)
    ]
    mixed = [mix(*sets) for sets in zip(*dense, strict=True)]
    query, value = rows[0], rows[2]
    shape = value.shape[1 if isinstance(parts[2], RaggedSets) else 2 :]
    if isinstance(parts[0], RaggedSets):
        return own.from_sizes(mixed) if mixed else value.new_zeros(0, *shape)
    # Empty sets are in no bucket; autocast may give what was mixed another type than the values.
    zeros = (mixed or [value])[0].new_zeros(*query.shape[:2], *shape)
    return zeros.index_copy(0, torch.cat(which), torch.cat(mixed)) if mixed else zeros


def _attend_open(mix: Callable[..., Tensor], parts: tuple[Sets, ...], own: OpenPartition) -> Tensor:
    """Attend among all rows at once, blind to other sets."""
    flat, index = [], []
    for part in parts:
        if isinstance(part, RaggedSets):
            flat.append(common_rows(part).unsqueeze(0))
            index.append(own.index)
        else:
            sets = torch.arange(part.shape[0], device=part.device)
            flat.append(part.flatten(0, 1).unsqueeze(0))
            index.append(sets.unsqueeze(1).expand(-1, part.shape[1]).flatten())
    mixed = mix(*flat, apart=index[0][:, None] != index[1]).squeeze(0)
    query = parts[0]
    return mixed if isinstance(query, RaggedSets) else mixed.unflatten(0, query.shape[:2])
