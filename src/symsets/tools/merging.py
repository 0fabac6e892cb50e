"""Shots in, picture out: align shots of one scene, and merge them tile by tile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from symsets._checks import check_choice, check_kind, positive, shown
from symsets._modes import evaluating
from symsets.models import with_reference
from symsets.models.sharpness import slopes
from symsets.models.turns import over_turns
from symsets.saving import load_pretrained
from symsets.tools.aligning import align, other_scenes, sample
from symsets.tools.exposure import as_bright, most_usual
from symsets.tools.moving import moved
from symsets.tools.ranking import check_some, checked_shot
from symsets.train.inputs import chosen_device

TILE, OVERLAP = 384, 48  # px; two tiles share a strip that fades from one to the other
CELL = 8  # px: tiles begin at multiples of it, where networks have their coarsest pixels
# Of noise: the side of the part of shots that is looked at, and of the blocks it is in, in px; how
# little is none in a block, and in all; and the correlation from which on colours share it.
LOOKED_AT, BLOCK, NONE, LITTLE, SHARED = 512, 16, 0.5 / 255, 2 / 255, 0.3
NAME = "merge"  # of the network that comes with the package
Window = tuple[int, int, int, int]  # top, left, height and width


def merge(
    shots: Tensor | Sequence[Tensor],
    *,
    reference: int | str = "auto",
    maps: Tensor | None = None,
    network: nn.Module | None = None,
    turns: bool = False,
    device: str = "auto",
    tile: int = TILE,
    watch: Callable[[int, int], None] | None = None,
) -> Tensor:
    """Merge shots of one scene into one picture with less noise.

    The picture lies where the reference lies and is as bright. Shots may be shifted, turned a
    little, and differ in brightness, white balance and sharpness; what moves within the scene is
    taken from the reference. One shot alone is denoised, unless it is grey.

    The network learned from noise that is different in each colour. Where the colours share it, as
    in grey pictures and most JPEG, it gets each colour from another shot, so that they do not.

    Args:
        shots: Pictures of one size, ``(N, C, H, W)`` or a list of ``(C, H, W)``, with one or three
            channels and values in [0, 1].
        reference: The number of the shot to keep to; ``"auto"`` takes the sharpest one.
        maps: Where shots lie, from :func:`find_maps`, which is asked if they are left out.
        network: What merges; ``symsets.load("merge")`` if left out.
        turns: Take the mean of eight pictures, merged from the shots, their turns and their mirror
            images: less noise is left, after eight times as long.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, …
        tile: Pixels on each side of what is merged at a time: more need more memory.
        watch: Called after each tile with how many are done, and of how many.

    Shape:
        - output: ``(C, H, W)``, in [0, 1].
    """
    pictures = _checked(shots)
    network = load_pretrained(NAME) if network is None else network
    check_kind("network", network, nn.Module, "network")
    where = torch.device(chosen_device(device))
    colours = pictures.shape[1]
    pictures = pictures.to(where, torch.float32).expand(-1, 3, -1, -1)
    brightest = pictures.max().clamp(min=1e-9)  # of 12 bits in 16, for example, it is 1 / 16
    pictures = pictures / brightest
    check_choice("reference", reference, ["auto", *range(len(pictures))])
    which = sharpest(pictures) if reference == "auto" else int(reference)
    maps = (find_maps(pictures, which) if maps is None else _maps(maps, len(pictures))).to(where)
    pictures, gain = as_bright(pictures, maps, which)
    exchanged = colours_share_noise(pictures, maps, which)
    network = network.to(where)
    applied = partial(over_turns, network) if turns else network
    total = pictures.new_zeros(3, *pictures.shape[-2:])
    weight = pictures.new_zeros(pictures.shape[-2:])
    tile = max(4 * OVERLAP, positive("tile", tile))
    rows, columns = (_tiles(side, tile) for side in pictures.shape[-2:])
    windows = [(top, left, h, w) for top, h in rows for left, w in columns]
    with evaluating(network):
        for k, window in enumerate(windows):
            top, left, height, width = window
            inside = (..., slice(top, top + height), slice(left, left + width))
            fade = _fade(*window, weight)
            total[inside] += fade * _merged_tile(
                applied, pictures, gain, maps, which, window, exchanged=exchanged
            )
            weight[inside] += fade
            if watch:
                watch(k + 1, len(windows))
    picture = (total / weight).clamp(0, 1) * brightest
    return (picture.mean(0, keepdim=True) if colours == 1 else picture).cpu()


def _merged_tile(
    network: Callable[[Tensor], Tensor],
    pictures: Tensor,
    gain: Tensor,
    maps: Tensor,
    which: int,
    window: Window,
    *,
    exchanged: bool,
) -> Tensor:
    """Return what a network makes of a window of all shots, ``(3, h, w)``.

    If colours are exchanged, each set of three is of three shots, one after the other.
    """
    found = _laid_over(pictures, maps, which, window)
    found = torch.where(moved(found, gain, which), found[which], found)
    if exchanged:
        found = torch.stack([found[:, c].roll(-c, 0) for c in range(3)], dim=1)
    on_gpu = pictures.device.type == "cuda"
    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16, enabled=on_gpu):
        return network(with_reference(found[None], which))[0].float()


def _laid_over(pictures: Tensor, maps: Tensor, which: int, window: Window) -> Tensor:
    """Return a window of all shots, and of the reference what they do not show."""
    top, left, height, width = window
    found, seen = sample(pictures, maps, top, left, (height, width))
    return torch.where(seen & found.isfinite(), found, found[which])


@torch.no_grad()
def colours_share_noise(pictures: Tensor, maps: Tensor, reference: int) -> bool:
    """Whether the colours of shots ``(N, 3, H, W)`` have much of their noise in common.

    Noise is what differs between shots, once they are laid over each other. The quarter of the
    picture with least of it is looked at, in which there are no edges.
    """
    sides = pictures.shape[-2:]
    parts = [min(side, LOOKED_AT) for side in sides]
    top, left = ((side - part) // 2 for side, part in zip(sides, parts, strict=True))
    found = _laid_over(pictures, maps, reference, (top, left, parts[0], parts[1]))
    noise = found - found[reference]
    noise = noise - F.avg_pool2d(noise, 3, 1, padding=1)
    power = F.avg_pool2d(noise.square().mean(1), BLOCK).flatten()  # of N · blocks
    total = noise.sum(1)
    common = F.avg_pool2d((total.square() - noise.square().sum(1)) / 6, BLOCK).flatten()
    some = power > NONE**2  # not where pictures are black or white, nor in the reference
    power, common = power[some], common[some]
    least = power.argsort()[: -(-len(power) // 4)]
    level, shared = power[least].sum(), common[least].sum()
    return bool(level > LITTLE**2 * len(least)) and bool(shared > SHARED * level)


def sharpest(shots: Tensor) -> int:
    """Return the number of the shot with the steepest slopes, after noise was smoothed away.

    Shots that are much brighter or darker than most are not looked at.
    """
    return int(torch.where(most_usual(shots), slopes(shots), -1).argmax())


def find_maps(pictures: Tensor, reference: int, *, aligned: bool = False) -> Tensor:
    """Return where shots ``(N, C, H, W)`` lie, ``(N, 2, 3)`` (see :func:`~.aligning.align`)."""
    if aligned or len(pictures) == 1:
        return torch.eye(2, 3, device=pictures.device).repeat(len(pictures), 1, 1)
    maps, alike = align(pictures, reference)
    others = other_scenes(pictures, maps, alike, reference).nonzero().flatten().tolist()
    if others:
        raise DifferentScenesError(others, reference)
    return maps


class DifferentScenesError(ValueError):
    """Shots do not show what the reference shows; all are numbers of shots."""

    def __init__(self, shots: list[int], reference: int) -> None:
        super().__init__(
            f"shots must show one scene, but shot {shots[0]} has nothing in common with shot "
            f"{reference}"
        )
        self.shots, self.reference = shots, reference


def _checked(shots: Any) -> Tensor:
    """Return shots ``(N, C, H, W)``; raise TypeError or ValueError if they are none."""
    check_some(shots)
    given = [checked_shot(shot, number) for number, shot in enumerate(shots)]
    for number, shot in enumerate(given):
        if shot.shape != given[0].shape:
            raise ValueError(
                f"shots must have one size, got {tuple(shot.shape)} for shot {number} and "
                f"{tuple(given[0].shape)} for shot 0"
            )
    return torch.stack(given)


def _maps(maps: Any, num: int) -> Tensor:
    if not isinstance(maps, Tensor) or maps.shape != (num, 2, 3):
        raise ValueError(f"maps must be a tensor ({num}, 2, 3) of find_maps, got {shown(maps)}")
    return maps.float()


def _tiles(side: int, tile: int) -> list[tuple[int, int]]:
    """Return where tiles begin and how long they are: as few as do, and no longer than needed.

    Example:
        >>> _tiles(200, 256), _tiles(500, 256)
        ([(0, 200)], [(0, 200), (152, 200), (304, 196)])
    """
    if side <= tile:
        return [(0, side)]
    num = -(-(side - OVERLAP) // (tile // CELL * CELL - OVERLAP))
    step = -(-(side - OVERLAP) // (num * CELL)) * CELL
    starts = range(0, side - OVERLAP, step)
    return [(start, min(step + OVERLAP, side - start)) for start in starts]


def _fade(top: int, left: int, height: int, width: int, whole: Tensor) -> Tensor:
    """Return weights of a tile: they fall off towards other tiles, not to the picture's border."""

    def ramp(start: int, length: int, side: int) -> Tensor:
        place = torch.arange(length, device=whole.device, dtype=whole.dtype) + 0.5
        before = place / OVERLAP if start else torch.ones_like(place)
        after = (length - place) / OVERLAP if start + length < side else torch.ones_like(place)
        return torch.minimum(before, after).clamp(max=1)

    rows, columns = whole.shape
    return ramp(top, height, rows)[:, None] * ramp(left, width, columns)
