"""Pictures of sets of shapes: what was asked, what is right, and what each model picked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from symsets._extras import require
from symsets.experiments.report._drawing import NO, YES, Picture, style
from symsets.experiments.report._sheets import GAP, LINE, Sets, Sheet, named, side_of
from symsets.experiments.report.models import style_of

__all__ = ["draw_shapes"]

SKIN, GHOST = "#8fa9ba", "#a8b1b8"
LIGHT = np.array([0.35, 0.55, 0.76])
LEFT, LARGEST = 0.55, 1.2  # for the names of sets; of a shape
TURN = 25.0  # degrees from the front view
Array = np.ndarray[Any, np.dtype[Any]]


def draw_shapes(sets: Sets) -> Picture:
    """Draw sets of shapes, the central frame of each, and the frames that models picked.

    Every set takes two rows. The first shows it as the models see it, in its shuffled order, with
    the central frame in a box. The second shows the central frame, then the pick of each model
    (in green or red) before the shadow of the central frame.

    Args:
        sets: Shapes ``(S, N, 3, V)``, y upwards, with targets ``(S,)`` and answers ``(S, N)``,
            scores. More may hold triangles ``faces (F, 3)``; points are drawn if these do not fit.
    """
    S, N, _, V = sets.x.shape
    faces = sets.more.get("faces")
    shown = faces.cpu().numpy() if faces is not None and _are_faces(faces, V) else None
    truth = sets.target.tolist()
    picks = {model: answer.output.argmax(1).tolist() for model, answer in sets.answers.items()}
    labels = {model: named(model, answer) for model, answer in sets.answers.items()}
    views = _turned(sets.x)
    with style():
        page = _Shapes(shown, max(N, 1 + len(picks)))
        for s in range(S):
            page.sheet.text(f"set {s + 1}", GAP, page.sheet.y + LINE / 2, ha="left", weight="bold")
            page.draw_set(views[s], truth[s])
            page.draw_picks(views[s], truth[s], {m: c[s] for m, c in picks.items()}, labels)
    right = {m: sum(a == b for a, b in zip(c, truth, strict=True)) for m, c in picks.items()}
    counts = ", ".join(f"{labels[model]} {count} of {S}" for model, count in right.items())
    return Picture(
        name="shapes",
        caption=f"To be found is the frame in the middle of the motion (thick frame) among {N} "
        "shuffled ones. Under each set: that frame, and the one that each model picked, ✓ right "
        f"or ✗ wrong; behind wrong ones, in grey, the central frame. Right here: {counts}.",
        description=f"{S} sets of {N} shapes, and the picks of models. Right: {counts}.",
        figure=page.sheet.close(),
        models=tuple(picks),
        wide=True,
    )


def _are_faces(faces: Tensor, num_vertices: int) -> bool:
    if faces.ndim != 2 or faces.shape[1] != 3 or not faces.numel() or faces.is_floating_point():
        return False
    return int(faces.min()) >= 0 and int(faces.max()) < num_vertices


def _turned(sets: Tensor) -> Array:
    """Return the vertices ``(S, N, V, 3)``, turned about the upright axis.

    All shapes of a set have one scale, at which x and y fill the unit square.
    """
    angle = math.radians(TURN)
    c, s = math.cos(angle), math.sin(angle)
    rotation = torch.tensor([[c, 0, s], [0, 1, 0], [-s, 0, c]], dtype=torch.float64)
    turned = (rotation @ sets.detach().cpu().double()).mT
    low, high = turned.amin((1, 2), keepdim=True), turned.amax((1, 2), keepdim=True)
    extent = (high - low)[..., :2].amax(-1, keepdim=True).clamp(min=1e-9)
    return (0.5 + 0.96 * (turned - (low + high) / 2) / extent).numpy()


class _Shapes:
    """A sheet of shapes that share their faces, if they have some."""

    def __init__(self, faces: Array | None, columns: int) -> None:
        self.sheet = Sheet()
        self.faces = faces
        self.side = side_of(columns, LEFT, LARGEST)
        self.columns = [LEFT + k * (self.side + GAP) for k in range(columns)]

    def draw_set(self, views: Array, truth: int) -> None:
        sheet, side = self.sheet, self.side
        for i, (view, x) in enumerate(zip(views, self.columns, strict=False)):
            sheet.text(f"{i + 1}", x + side / 2, sheet.y + LINE / 2)
            self.draw(view, x, sheet.y + LINE, SKIN)
        sheet.box(self.columns[truth], sheet.y, side, side + LINE + 0.04, linewidth=2)
        sheet.y += side + LINE + 0.12

    def draw_picks(
        self, views: Array, truth: int, picks: Mapping[str, int], labels: Mapping[str, str]
    ) -> None:
        sheet, side, top = self.sheet, self.side, self.sheet.y
        self._draw_pick(views[truth], 0, "central", f"{truth + 1}", YES)
        for k, (model, pick) in enumerate(picks.items(), start=1):
            colour, mark = (YES, "✓") if pick == truth else (NO, "✗")
            if pick != truth:
                self.draw(views[truth], self.columns[k], top + LINE, GHOST, flat=True)
            self._draw_pick(
                views[pick], k, labels[model], f"{pick + 1} {mark}", colour, style_of(model).colour
            )
        sheet.y += side + 2 * LINE + 0.2

    def _draw_pick(
        self, view: Array, k: int, label: str, found: str, colour: str, ink: str | None = None
    ) -> None:
        """Draw a shape below the name of the model that picked it, and above its number."""
        sheet, side, x = self.sheet, self.side, self.columns[k]
        middle = x + side / 2
        sheet.words(label, middle, sheet.y + LINE / 2, side + GAP, color=ink or colour)
        self.draw(view, x, sheet.y + LINE, colour)
        y = sheet.y + side + 1.5 * LINE + 0.02
        sheet.text(found, middle, y, weight="bold", color=colour)

    def draw(self, view: Array, x: float, y: float, colour: str, *, flat: bool = False) -> None:
        """Draw a shape ``(V, 3)`` into the square with the upper left corner ``(x, y)``."""
        base = np.array(require("matplotlib.colors", "experiments").to_rgb(colour))
        placed = np.stack([x + self.side * view[:, 0], y + self.side * (1 - view[:, 1])], axis=-1)
        right = x + self.side
        if self.faces is None:
            order, depth = view[:, 2].argsort(), view[:, 2]
            near = (depth[order, None] - depth.min()) / max(float(np.ptp(depth)), 1e-9)
            tones = base[None] if flat else 1 - (0.35 + 0.65 * near) * (1 - base)
            self.sheet.points(*placed[order].T, right=right, s=2.5, c=tones)
            return
        order = view[self.faces][..., 2].mean(1).argsort()  # far ones first
        faces = self.faces[order]
        lit = np.ones(len(faces)) if flat else _light(view[faces])
        self.sheet.faces(placed[faces], np.clip(lit[:, None] * base, 0, 1), right=right)


def _light(corners: Array) -> Array:
    """Return how bright triangles ``(F, 3, 3)`` are; all are seen from their outer side."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True).clip(min=1e-12)
    normal *= np.where(normal[:, 2:] < 0, -1, 1)
    return 0.5 + 0.6 * (normal @ LIGHT).clip(min=0)
