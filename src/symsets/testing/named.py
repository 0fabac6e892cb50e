"""Symmetries of any tensor, by name: what ``symsets check --symmetry`` takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from symsets import groups
from symsets.testing.actions import random_order

KINDS = ("permute", "roll", "flip", "rotate")
Move = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Drawn:
    """One element of a group, drawn at random.

    Attributes:
        act: How it acts on the input.
        moves: How it may act on another tensor, such as the output of a layer; none where that
            is not known, as for an axis of another length.
    """

    act: Move
    moves: Callable[[Tensor], list[Move]]


def draw(text: str, x: Tensor, seed: int) -> Drawn:
    """Draw an element of a symmetry that is told by name.

    ================================  ===========================================================
    ``permute:axis=1``                a random order of what lies along an axis
    ``roll``, ``roll:axis=-1,by=4``   a circular shift, of a random length if none is told
    ``flip``, ``flip:axis=-2``        the mirror image
    ``rotate``                        quarter turns of the last two axes
    ``S5 x C4``, …                    a group as :func:`symsets.groups.parse` reads it, on the
                                      last axes
    ================================  ===========================================================

    Axes below zero count from the end, also in outputs with fewer or more axes.

    Args:
        text: The name.
        x: The input of a network.
        seed: Draws the element.

    Example:
        >>> draw("flip", torch.arange(3), seed=0).act(torch.arange(3))
        tensor([2, 1, 0])
    """
    kind, _, rest = text.partition(":")
    generator = torch.Generator().manual_seed(seed)
    if kind.strip() not in KINDS:
        return _of_group(text, x, seed)
    kind = kind.strip()
    if kind == "rotate":
        _options(text, rest, {})
        if x.ndim < 2:
            raise ValueError(f"symmetry {text!r} must have two axes to turn, got {_shape(x)}")
        turns = 1 + int(torch.randint(3, (1,), generator=generator))
        return _turn(lambda t: t.rot90(turns, (-2, -1)), x, -2)
    options: dict[str, dict[str, Any]] = {
        "permute": {"axis": 1},
        "roll": {"axis": -1, "by": None},
        "flip": {"axis": -1},
    }
    given = _options(text, rest, options[kind])
    axis = given["axis"]
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"symmetry {text!r} must name an axis of the input, got {_shape(x)}")
    length = x.shape[axis]
    if kind == "flip":
        return _turn(lambda t: t.flip(axis), x, axis)
    if length < 2:
        raise ValueError(
            f"symmetry {text!r} must act on an axis of two entries or more, got {_shape(x)}"
        )
    if kind == "roll":
        step = given["by"]
        if step is None:
            step = 1 + int(torch.randint(length - 1, (1,), generator=generator))
        if step % length == 0:
            raise ValueError(
                f"symmetry {text!r} must move an axis of {length} entries, which by={step} does not"
            )
        return _roll(x, axis, step)
    return _permute(x.shape, axis, random_order(length, generator))


def _turn(act: Move, x: Tensor, axis: int) -> Drawn:
    return Drawn(act, lambda t: [act] if _has_axis(t, x, axis) else [])


def _has_axis(t: Tensor, x: Tensor, axis: int) -> bool:
    """Whether a tensor has the axis of the input that is meant.

    One axis may be lost: where sets joined their batch, or where the length is the same.
    """
    if t.ndim >= x.ndim:
        return True
    if t.ndim < x.ndim - 1 or not -t.ndim <= axis < t.ndim:
        return False
    joined = x.ndim > 2 and t.shape[0] == x.shape[0] * x.shape[1]
    return joined or t.shape[axis] == x.shape[axis]


def _roll(x: Tensor, axis: int, step: int) -> Drawn:
    """Shift by a share of the length; a coarser axis must be shifted by whole entries, too."""
    length = x.shape[axis]

    def moves(t: Tensor) -> list[Move]:
        if not _has_axis(t, x, axis) or step * t.shape[axis] % length:
            return []
        return [lambda t: t.roll(step * t.shape[axis] // length, axis)]

    return Drawn(lambda t: t.roll(step, axis), moves)


def _permute(shape: torch.Size, axis: int, order: Tensor) -> Drawn:
    """Reorder an axis; also where it was joined with the batch before it."""

    def act(t: Tensor) -> Tensor:
        return t.index_select(axis, order.to(t.device))

    def folded(t: Tensor) -> Tensor:
        return act(t.unflatten(0, shape[:2])).flatten(0, 1)

    def moves(t: Tensor) -> list[Move]:
        fits = -t.ndim <= axis < t.ndim and t.shape[axis] == len(order)
        joined = axis == 1 and t.ndim > 0 and t.shape[0] == shape[0] * shape[1]
        return [move for move, is_right in ((act, fits), (folded, joined)) if is_right]

    return Drawn(act, moves)


def _of_group(text: str, x: Tensor, seed: int) -> Drawn:
    try:
        group = groups.parse(text)
    except ValueError as error:
        raise ValueError(
            f"symmetry must be one of {', '.join(KINDS)}, or a group such as 'S5 x C4', got "
            f"{text!r} ({error})"
        ) from error
    rng = np.random.default_rng(seed)
    for _ in range(20):  # until one moves something; none of a trivial group does
        element = group.group.random_element(rng)
        if (element != np.arange(len(element))).any():
            break

    act = partial(group.act, element=element)
    act(x)  # raises unless x ends in the axes of the group
    rank = len(group.shape)
    return Drawn(act, lambda t: [act] if tuple(t.shape)[-rank:] == group.shape else [])


def _options(text: str, rest: str, usual: dict[str, Any]) -> dict[str, Any]:
    """Read ``axis=1,by=2``."""
    given = dict(usual)
    for part in filter(None, rest.split(",")):
        name, _, value = part.strip().partition("=")
        if name not in usual or not value.removeprefix("-").isdecimal():
            known = ", ".join(f"{name}=K" for name in usual) or "nothing"
            raise ValueError(f"symmetry {text!r} must have {known} after its colon, got {part!r}")
        given[name] = int(value)
    return given


def _shape(x: Tensor) -> str:
    return f"an input of shape {tuple(x.shape)}"
