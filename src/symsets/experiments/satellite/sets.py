"""Sets of coarse pictures of one place, with the fine picture as target."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from symsets.data.labelled import SetDataset
from symsets.experiments.satellite.metric import shift_errors
from symsets.experiments.satellite.registration import find_shifts, find_weights, masked_mean
from symsets.experiments.satellite.resampling import enlarge, is_clear
from symsets.experiments.satellite.scenes import FULL, SCALE, Scene
from symsets.sets import RaggedSets, Sets, fold, map_elements

CHANNELS = 5 + SCALE**2
"""Of an element: raw picture, its mask, its shift (2), the registered weight, nine sub-pixels."""
RAW, CLEAR, SHIFT, SEEN, FINE = (
    slice(*ends) for ends in ((0, 1), (1, 2), (2, 4), (4, 5), (5, CHANNELS))
)
OF_PICTURES, OF_SCENES = ("low", "clear", "shifts", "weights", "fine"), ("high", "known", "errors")


class SceneSets(SetDataset):
    """Scenes, registered and resampled once, cropped and turned whenever they are asked for.

    An element is one coarse picture: the picture as it came, where it is clear, its shift against
    the centre of its set (rows, columns), its weight in the mean of the set, which is zero where it
    is not clear after registration, and the registered picture on the fine grid, whose nine
    sub-pixels are channels.

    In training, each set is ``num_elements`` pictures drawn at random, a crop, turned or mirrored;
    a scene with fewer pictures shows some of them twice. For evaluation a set is the clearest
    pictures of a scene in full, as many as there are, so sets differ in size.

    Args:
        scenes: The pictures.
        num_elements: Pictures of a set: exactly in training, at most in evaluation.
        crop: Height and width of coarse pictures in training.
        registered: Whether pictures are registered; if not, all shifts are zero, and all weights
            zero or one.
        fewest: Different pictures of a set in training at least, if the scene has so many. Their
            number is drawn evenly from here to the size of the set, which repeats fill up; 0 for
            always as many as possible.
        device: Where to work.

    Shape:
        - sets: ``(B, N, 14, crop, crop)`` in training, ragged with ``(T, 14, H, W)`` otherwise.
        - targets: ``(B, 3, 3 H, 3 W)``: the truth, where it is clear (1), and the error of the
          mean of the set, the same number everywhere.
    """

    def __init__(
        self,
        scenes: Sequence[Scene],
        *,
        num_elements: int = 16,
        crop: int = 48,
        registered: bool = True,
        fewest: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        shapes = {scene.low.shape[1:] for scene in scenes}
        if len(shapes) != 1:
            raise ValueError(f"scenes must have pictures of one size, got {sorted(shapes)}")
        if not 1 <= crop <= (most := min(*shapes.pop())):
            raise ValueError(f"crop must be in 1..{most}, got {crop}")
        self.names = [scene.name for scene in scenes]
        self.sizes = [len(scene.low) for scene in scenes]
        self.num_elements = num_elements
        self.crop = crop
        self.fewest = fewest
        self.low = _values(np.concatenate([scene.low for scene in scenes])).to(device)
        self.high = _values(np.stack([scene.high for scene in scenes])).to(device)
        clear = np.concatenate([scene.clear for scene in scenes])
        known = np.stack([scene.known for scene in scenes])
        self.clear, self.known = (torch.from_numpy(mask).to(device) for mask in (clear, known))
        sets = list(zip(self.low.split(self.sizes), self.clear.split(self.sizes), strict=True))
        found = [
            find_shifts(low, clear) if registered else low.new_zeros(len(low), 2)
            for low, clear in sets
        ]
        self.shifts = torch.cat(found)
        parts = [_fine(*pictures, s, registered) for pictures, s in zip(sets, found, strict=True)]
        self.fine = torch.cat([fine.half() for fine, _ in parts])
        self.weights = torch.cat([weights.half() for _, weights in parts])
        self.errors = torch.stack([self._usual_error(k, *part) for k, part in enumerate(parts)])
        self.dtype = torch.float32
        self._tables()

    def _usual_error(self, k: int, fine: Tensor, seen: Tensor) -> Tensor:
        """Return the root of the mean squared error of the mean of scene ``k``."""
        target = torch.stack([self.high[k], self.known[k].to(self.high.dtype)])
        some = slice(0, self.num_elements)
        split = F.pixel_unshuffle(fine[some][:, None], SCALE)  # (N, 9, H, W)
        merged, _ = masked_mean(split[None], seen[some][None, :, None])
        blurred = F.pixel_shuffle(merged, SCALE)[0, 0]
        return shift_errors(blurred[None, None], target[None]).amin().sqrt().clamp(min=1e-4)

    def _tables(self) -> None:
        """Keep where each scene starts and how many pictures it has, on the device."""
        sizes = torch.tensor(self.sizes)
        self._size = sizes.to(self.device)
        self._start = (sizes.cumsum(0) - sizes).to(self.device)

    @property
    def num_sets(self) -> int:
        return len(self.sizes)

    @property
    def device(self) -> torch.device:
        return self.low.device

    def batch(self, which: Tensor) -> tuple[Tensor, Tensor]:
        """Return crops of some scenes, with pictures drawn at random, and their targets."""
        scene = which.flatten().to(self.device)
        picture = self._draw(scene)  # (B, N)
        turn = Turn.draw(len(scene), self.low.shape[-2:], self.crop, self.device)
        high, known = (turn(v, scene[:, None], scale=SCALE)[:, 0] for v in (self.high, self.known))
        x = _element(
            turn(self.low, picture),
            turn(self.clear, picture),
            turn.vectors(self.shifts[picture]),
            turn(self.weights, picture),
            turn(self.fine, picture, scale=SCALE),
        )
        y = self._target(high, known, self.errors[scene])
        shape = tuple(which.shape)
        return x.to(self.dtype).unflatten(0, shape), y.to(self.dtype).unflatten(0, shape)

    def _draw(self, scene: Tensor) -> Tensor:
        """Draw pictures of scenes, ``(B, N)``; those of scenes with fewer come again."""
        size = self._size[scene]
        most = max(self.sizes)
        keys = torch.rand(len(scene), most, device=self.device)
        # Those that are not there come last.
        keys = keys + (torch.arange(most, device=self.device) >= size[:, None])
        order = keys.argsort(1)
        different = size.clamp(max=self.num_elements)
        if self.fewest:
            least = different.clamp(max=self.fewest)
            drawn = torch.rand(size.shape, device=self.device) * (different - least + 1)
            different = least + drawn.long()
        place = torch.arange(self.num_elements, device=self.device) % different[:, None]
        return self._start[scene][:, None] + order.gather(1, place)

    def _target(self, high: Tensor, known: Tensor, error: Tensor) -> Tensor:
        everywhere = error[:, None, None].expand_as(high)
        return torch.stack([high, known.to(high.dtype), everywhere], dim=1)

    def part(self, start: int, stop: int) -> tuple[Sets, Tensor]:
        """Return the scenes from ``start`` to ``stop``: their clearest pictures in full."""
        stop = min(stop, self.num_sets)
        sizes = [min(size, self.num_elements) for size in self.sizes[start:stop]]
        starts = self._start[start:stop].tolist()
        rows = [torch.arange(a, a + n) for a, n in zip(starts, sizes, strict=True)]
        picture = torch.cat(rows).to(self.device)
        x = _element(*(getattr(self, name)[picture] for name in OF_PICTURES))
        scene = torch.arange(start, stop, device=self.device)
        y = self._target(self.high[scene], self.known[scene], self.errors[scene])
        return RaggedSets(x.to(self.dtype), sizes), y.to(self.dtype)

    def with_pictures(self, num: int) -> SceneSets:
        """Return the same scenes with at most ``num`` pictures of each."""
        other = copy.copy(self)
        other.num_elements = num
        return other

    def first(self, num: int) -> SceneSets:
        if not 0 < num <= self.num_sets:
            raise ValueError(
                f"num must be in 1..{self.num_sets}, the scenes that can be used, got {num}"
            )
        fewer, total = copy.copy(self), sum(self.sizes[:num])
        fewer.names, fewer.sizes = self.names[:num], self.sizes[:num]
        for name in (*OF_PICTURES, *OF_SCENES):
            setattr(fewer, name, getattr(self, name)[: num if name in OF_SCENES else total])
        fewer._tables()
        return fewer

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Any:
        moved = copy.copy(self)
        for name in (*OF_PICTURES, *OF_SCENES):
            setattr(moved, name, getattr(self, name).to(device))
        moved.dtype = dtype or self.dtype
        moved._tables()
        return moved


def _values(pictures: np.ndarray) -> Tensor:
    """Return 16-bit values in units of 65,535, as metrics take them."""
    return torch.from_numpy(pictures.astype(np.float32)) / FULL


def _fine(low: Tensor, clear: Tensor, shifts: Tensor, weighted: bool) -> tuple[Tensor, Tensor]:
    """Return registered pictures on the fine grid, and their weights, on the coarse one."""
    weights = is_clear(clear, shifts).to(low.dtype)
    if weighted:
        weights = weights * find_weights(low, clear, shifts)[:, None, None]
    return enlarge(low, shifts, SCALE), weights


def _element(raw: Tensor, clear: Tensor, shift: Tensor, seen: Tensor, fine: Tensor) -> Tensor:
    """Put what is known of pictures side by side, ``(…, 14, H, W)``."""
    one = raw[..., None, :, :]
    return torch.cat(
        [
            one,
            clear[..., None, :, :].to(raw.dtype),
            shift[..., None, None].expand(*shift.shape, *raw.shape[-2:]),
            seen[..., None, :, :].to(raw.dtype),
            F.pixel_unshuffle(fine[..., None, :, :].to(raw.dtype), SCALE),
        ],
        dim=-3,
    )


@dataclass(frozen=True)
class Turn:
    """Crops of sets, transposed and mirrored: where every pixel comes from.

    Attributes:
        top, left: Of the crops, ``(B,)``.
        transposed, upside_down, mirrored: Whether a crop is, ``(B,)``, in this order.
        crop: Height and width of the result.
    """

    top: Tensor
    left: Tensor
    transposed: Tensor
    upside_down: Tensor
    mirrored: Tensor
    crop: int

    @classmethod
    def draw(cls, num: int, size: torch.Size, crop: int, device: torch.device) -> Turn:
        """Draw crops of pictures, and one of eight turns for each."""
        height, width = size
        top = torch.randint(height - crop + 1, (num,), device=device)
        left = torch.randint(width - crop + 1, (num,), device=device)
        flags = torch.randint(2, (3, num), device=device).bool()
        return cls(top, left, *flags, crop=crop)  # type: ignore[misc]

    def __call__(self, pictures: Tensor, which: Tensor, scale: int = 1) -> Tensor:
        """Return ``pictures (T, H, W)`` number ``which (B, N)``, cropped: ``(B, N, …)``.

        A pixel of the crop is ``scale`` pixels of the pictures.
        """
        side = scale * self.crop
        place = torch.arange(side, device=pictures.device)
        back = side - 1 - place
        row = torch.where(self.upside_down[:, None], back, place)  # (B, side)
        column = torch.where(self.mirrored[:, None], back, place)
        swap = self.transposed[:, None, None]
        rows, columns = row[:, :, None], column[:, None, :]
        y = torch.where(swap, columns, rows) + scale * self.top[:, None, None]
        x = torch.where(swap, rows, columns) + scale * self.left[:, None, None]
        return pictures[which[:, :, None, None], y[:, None], x[:, None]]

    def vectors(self, v: Tensor) -> Tensor:
        """Return shifts ``(B, N, 2)`` as they are in the crops."""
        swapped = torch.where(self.transposed[:, None, None], v.flip(-1), v)
        flags = torch.stack([self.upside_down, self.mirrored], dim=-1)[:, None]  # (B, 1, 2)
        return torch.where(flags, -swapped, swapped)


def turned(x: Tensor, transposed: bool, upside_down: bool, mirrored: bool) -> Tensor:
    """Turn elements ``(…, 14, H, W)``, all that they are made of.

    Example:
        >>> x = torch.randn(2, 5, CHANNELS, 6, 6)
        >>> again = turned(turned(x, True, False, False), True, False, False)
        >>> torch.equal(again, x)
        True
    """
    planes, fine = x[..., : FINE.start, :, :], F.pixel_shuffle(x[..., FINE, :, :], SCALE)
    if transposed:
        planes, fine = planes.mT, fine.mT
        planes = planes[..., [0, 1, 3, 2, 4], :, :]
    axes = [axis for axis, flag in ((-2, upside_down), (-1, mirrored)) if flag]
    planes, fine = planes.flip(axes), fine.flip(axes)
    signs = planes.new_tensor([1, 1, 1 - 2 * upside_down, 1 - 2 * mirrored, 1])
    return torch.cat([planes * signs[:, None, None], F.pixel_unshuffle(fine, SCALE)], dim=-3)


def bicubic(x: Sets) -> Tensor:
    """Enlarge the clearest picture of each set."""
    rows, _ = fold(x)
    first = rows[x.partition.offsets[:-1], RAW] if isinstance(x, RaggedSets) else x[:, 0, RAW]
    return F.interpolate(first, scale_factor=SCALE, mode="bicubic", align_corners=False)


def mean(x: Sets) -> Tensor:
    """Return the mean of the clear pixels of each set, on the fine grid."""
    fine, seen = (map_elements(x, lambda rows, p=p: rows[:, p]) for p in (FINE, SEEN))
    return F.pixel_shuffle(masked_mean(fine, seen)[0], SCALE)
