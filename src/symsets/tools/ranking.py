"""Rank shots of one scene, the best first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from symsets._checks import check_kind, shown
from symsets._modes import evaluating
from symsets.models.sharpness import slopes
from symsets.saving import load_pretrained
from symsets.tools.aligning import ALIKE, align
from symsets.train.inputs import chosen_device

NAME = "best"  # of the network that comes with the package
SMALL = 256  # px of the longer side of small copies
WINDOW, WINDOWS = 192, 5  # px on each side of what is looked at in full size, and how many of them
MOST = 200  # shots of a scene: the network looks at all of them at once
SMALLEST = 16  # px
DECIBELS = 10.0  # of a score of 1


def rank(
    shots: Sequence[Tensor] | Tensor, *, network: nn.Module | None = None, device: str = "auto"
) -> Tensor:
    """Return how good each shot of a scene is, beside the others.

    The network looks at small copies of the shots, and at the five parts with most detail in full
    size. Shots are laid over each other first, by whole pixels, so that it sees the same part of
    the scene in all of them. Larger shots are made as small as the smallest one.

    Args:
        shots: ``(N, C, H, W)`` or ``(C, H, W)`` each, with one or three channels and values in
            [0, 1]; their sizes may differ. A sequence may read a shot when it is asked for it: that
            happens twice.
        network: What scores them; ``symsets.load("best")`` if left out.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, …

    Shape:
        - output: ``(N,)``, in decibels of error, with a mean of zero: the higher, the better.
    """
    check_some(shots)
    read = (checked_shot(shots[k], k) for _ in range(2) for k in range(len(shots)))
    views = [small_view(shot) for shot in islice(read, len(shots))]
    return rank_views(views, read, network=network, device=device)


class SmallView(NamedTuple):
    """A small copy of a shot ``(3, h, w)``, and the size of the shot."""

    picture: Tensor
    size: tuple[int, int]


def small_view(shot: Tensor) -> SmallView:
    """Return a small copy of a shot ``(1 or 3, H, W)``."""
    height, width = shot.shape[1:]
    scale = min(1.0, SMALL / max(height, width))
    small = resized(shot.expand(3, -1, -1), (round(scale * height), round(scale * width)))
    return SmallView(small, (height, width))


def rank_views(
    views: Sequence[SmallView],
    shots: Iterable[Tensor],
    *,
    network: nn.Module | None = None,
    device: str = "auto",
) -> Tensor:
    """Return how good shots ``(1 or 3, H, W)`` are, as :func:`rank`, of their small copies."""
    if len(views) > MOST:
        raise ValueError(f"shots must be {MOST} or fewer of one scene, got {len(views)}")
    network = load_pretrained(NAME) if network is None else network
    check_kind("network", network, nn.Module, "network")
    where = torch.device(chosen_device(device))
    smallest = min(views, key=lambda view: (view.size[0] * view.size[1], view.size))
    shape = smallest.picture.shape[1:]
    small = torch.stack([resized(view.picture, shape) for view in views])
    gain = _filling(small)
    sets = [small]
    if max(max(view.size) for view in views) > SMALL:
        sets += _parts(small, [view.size for view in views], shots)
    on_gpu = torch.autocast("cuda", torch.bfloat16, enabled=where.type == "cuda")
    with evaluating(network.to(where)), torch.no_grad(), on_gpu:
        scores = [network(gain * x[None].to(where))[0].float().cpu() for x in sets]
    mean = torch.stack(scores).mean(0)
    return DECIBELS * (mean - mean.mean())


def _filling(shots: Tensor) -> float:
    """Return the power of two by which shots fill [0, 1]: 16, for 12 bits in files of 16.

    Example:
        >>> _filling(torch.tensor([0.0, 1.0])), _filling(torch.tensor([0.0, 4095 / 65535]))
        (1.0, 16.0)
    """
    brightest = min(1.0, max(1e-4, float(shots.max())))
    return 2.0 ** math.floor(-math.log2(brightest))


def _parts(
    small: Tensor, sizes: Sequence[tuple[int, int]], shots: Iterable[Tensor]
) -> list[Tensor]:
    """Return sets ``(N, 3, h, w)`` of parts of the shots in full size."""
    least = min(height * width for height, width in sizes)
    scaled = [_of_area(size, least) for size in sizes]
    window = min(WINDOW, *(min(size) for size in scaled))
    places = _places(small, window / min(max(size) for size in scaled))  # (K, N, 2)
    corners = _corners(places, torch.tensor(scaled), window)
    found: list[list[Tensor]] = [[] for _ in corners]
    for k, (size, shot) in enumerate(zip(scaled, shots, strict=True)):
        picture = resized(shot.expand(3, -1, -1), size)
        for part, (top, left) in zip(found, corners[:, k].tolist(), strict=True):
            part.append(picture[:, top : top + window, left : left + window].clone())
    return [torch.stack(part) for part in found]


def _corners(places: Tensor, sizes: Tensor, window: int) -> Tensor:
    """Return rows and columns where windows around places begin, ``(K, N, 2)``.

    A window that would leave a shot is moved in all of them, so that it stays at the same place of
    the scene; where that is impossible, in this shot alone.
    """
    corners = (places * sizes - window / 2).round().long()
    room = sizes - window
    before = (-corners).clamp(min=0).amax(1, keepdim=True)
    after = (corners - room).clamp(min=0).amax(1, keepdim=True)
    return (corners + before - after).clamp(min=0).minimum(room)


def _of_area(size: tuple[int, int], area: int) -> tuple[int, int]:
    """Return height and width of the same proportions, but with so many pixels.

    Example:
        >>> _of_area((300, 400), 150 * 200), _of_area((301, 403), 301 * 403)
        ((150, 200), (301, 403))
    """
    height, width = size
    scale = (area / (height * width)) ** 0.5
    return max(1, round(scale * height)), max(1, round(scale * width))


def _places(small: Tensor, window: float) -> Tensor:
    """Return the middles of the parts with most detail in each shot, ``(K, N, 2)``.

    They are rows and columns, as shares of height and width; ``window``, the side of a part, is a
    share of the longer side of ``small (N, 3, h, w)``.
    """
    which = int(slopes(small).argmax())
    maps, alike = align(small, which)
    same = torch.eye(2, 3).expand_as(maps)
    maps = torch.where((alike < ALIKE)[:, None, None], same, maps)  # another scene stays there
    sides = small.new_tensor(small.shape[-2:])
    longer = sides.max()
    middles = []
    for row, column in detailed_parts(small[which], max(3, round(window * longer.item()))):
        place = (small.new_tensor([column, row]) + 0.5 - sides.flip(0) / 2) * 2 / longer
        there = maps @ torch.cat([place, place.new_ones(1)])  # (N, 2): column, row
        middles.append((there * longer / 2).flip(1) / sides + 0.5)
    return torch.stack(middles)


def detailed_parts(picture: Tensor, window: int) -> Iterator[tuple[int, int]]:
    """Give the middles of the windows with the steepest slopes that share less than half."""
    grey = picture.mean(0)[None, None]
    grey = F.avg_pool2d(grey, 3, 1, padding=1, count_include_pad=False)[0, 0]
    slope = torch.zeros_like(grey)
    slope[1:] += grey.diff(dim=0).abs()
    slope[:, 1:] += grey.diff(dim=1).abs()
    window = min(window, *grey.shape)
    detail = F.avg_pool2d(slope[None, None], window, 1)[0, 0]
    for _ in range(WINDOWS):
        best = int(detail.argmax())
        top, left = best // detail.shape[1], best % detail.shape[1]
        if detail[top, left] < 0:
            return
        yield top + window // 2, left + window // 2
        near = [
            slice(max(0, first - window // 2), first + window // 2 + 1) for first in (top, left)
        ]
        detail[near[0], near[1]] = -1


def resized(picture: Tensor, size: Sequence[int]) -> Tensor:
    """Make a picture ``(C, H, W)`` as large as asked for, by weighted means of pixels."""
    if tuple(picture.shape[1:]) == tuple(size):
        return picture
    mode = {"mode": "bilinear", "antialias": True, "align_corners": False}
    return F.interpolate(picture[None], size=list(size), **mode)[0]  # type: ignore[arg-type]


def check_some(shots: Any) -> None:
    """Raise TypeError unless there are some shots."""
    if not isinstance(shots, Sequence | Tensor) or not len(shots):
        raise TypeError(f"shots must be pictures (C, H, W), at least one, got {shown(shots)}")


def checked_shot(shot: Any, number: int) -> Tensor:
    """Return a shot in single precision; raise TypeError or ValueError if it is none."""
    if not isinstance(shot, Tensor) or shot.ndim != 3:
        raise TypeError(f"shot {number} must be a picture (C, H, W), got {shown(shot)}")
    if shot.shape[0] not in (1, 3) or min(shot.shape[1:]) < SMALLEST:
        raise ValueError(
            f"shots must have one or three channels and {SMALLEST} pixels or more on each side, "
            f"got shape {tuple(shot.shape)} for shot {number}"
        )
    low, high = (float(value) for value in shot.aminmax())
    if not shot.is_floating_point() or not (low >= -0.01 and high <= 1.01):  # true of NaN, too
        raise ValueError(
            f"shots must have values in [0, 1], as in x / 255, got {shot.dtype} from {low:g} to "
            f"{high:g} for shot {number}"
        )
    return shot.detach().float().cpu()
