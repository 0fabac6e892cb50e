"""Sheets of shapes: what was asked, what is right, and what each model picked."""

import math
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from symsets._extras import require
from symsets.experiments.report._answers import Sets
from symsets.pages.drawing import NO, YES, Picture
from symsets.pages.sheets import Line, Sheet, Tile

SKIN, GHOST = "#8fa9ba", "#a8b1b8"
LIGHT = np.array([0.35, 0.55, 0.76])
TURN = 25.0  # degrees from the front view
Array = np.ndarray[Any, np.dtype[Any]]


def draw_shapes(sets: Sets) -> Picture:
    """Draw sets of shapes, the central frame of each, and the frames that models picked.

    Every set takes two rows. The first shows it as the models see it, in its shuffled order, with
    the central frame in a box. The second shows the central frame, then the pick of each model
    (in green or red) before the shadow of the central frame.

    Args:
        sets: Shapes ``(S, N, 3, V)``, y upwards, with targets ``(S,)`` and answers ``(S, N)``,
            scores. More may hold triangles ``faces (F, 3)``; points are drawn without them.
    """
    S, N = sets.x.shape[:2]
    faces = sets.more.get("faces")
    fitting = None if faces is None else faces.numpy()
    picks = {model: answer.output.argmax(1).tolist() for model, answer in sets.answers.items()}
    sheet = Sheet(max(N, 1 + len(picks)), left=0.55, largest=1.2)
    for s, (views, truth) in enumerate(zip(_turned(sets.x), sets.target.tolist(), strict=True)):
        draw = partial(_draw, views, fitting)
        tiles = [Tile(draw([(k, SKIN)]), Line(f"{k + 1}"), framed=k == truth) for k in range(N)]
        sheet.row(tiles, [Line(f"set {s + 1}", bold=True)])
        answers = [Tile(draw([(truth, YES)]), Line("central", YES), [Line(f"{truth + 1}", YES)])]
        for model, picked in picks.items():
            right, pick = picked[s] == truth, picked[s]
            colour, mark = (YES, "✓") if right else (NO, "✗")
            shapes = [(pick, colour)] if right else [(truth, GHOST), (pick, colour)]
            below = [Line(f"{pick + 1} {mark}", colour, bold=True)]
            answers.append(Tile(draw(shapes), sets.name(model), below))
        sheet.row(answers)
    right = {m: int((torch.tensor(picked) == sets.target).sum()) for m, picked in picks.items()}
    counts = sets.counted({model: f"{num} of {S}" for model, num in right.items()})
    return sheet.close(
        f"To be found is the frame in the middle of the motion (thick frame) among {N} "
        "shuffled ones. Under each set: that frame, and the one that each model picked, ✓ right "
        f"or ✗ wrong; behind wrong ones, in grey, the central frame. Right here: {counts}.",
        f"{S} sets of {N} shapes, and the picks of models. Right: {counts}.",
    )


def _turned(sets: Tensor) -> Array:
    """Return the vertices ``(S, N, V, 3)``, turned about the upright axis.

    All shapes of a set have one scale, at which x and y fill the unit square.
    """
    angle = math.radians(TURN)
    c, s = math.cos(angle), math.sin(angle)
    rotation = torch.tensor([[c, 0, s], [0, 1, 0], [-s, 0, c]], dtype=torch.float64)
    turned = (rotation @ sets.double()).mT
    low, high = turned.amin((1, 2), keepdim=True), turned.amax((1, 2), keepdim=True)
    extent = (high - low)[..., :2].amax(-1, keepdim=True).clamp(min=1e-9)
    return (0.5 + 0.96 * (turned - (low + high) / 2) / extent).numpy()


def _draw(views: Array, faces: Array | None, shapes: list[tuple[int, str]]) -> Any:
    """Return what draws some shapes ``(V, 3)`` of a set over each other, each in its colour."""

    def draw(sheet: Sheet, x: float, y: float) -> None:
        for k, colour in shapes:
            view, flat = views[k], colour == GHOST
            base = np.array(require("matplotlib.colors", "experiments").to_rgb(colour))
            placed = np.stack([x + sheet.side * view[:, 0], y + sheet.side * (1 - view[:, 1])], -1)
            if faces is None:
                order, depth = view[:, 2].argsort(), view[:, 2]
                near = (depth[order, None] - depth.min()) / max(float(np.ptp(depth)), 1e-9)
                tones = base[None] if flat else 1 - (0.35 + 0.65 * near) * (1 - base)
                sheet.points(*placed[order].T, s=2.5, c=tones)
            else:
                far_first = faces[view[faces][..., 2].mean(1).argsort()]
                lit = np.ones(len(faces)) if flat else _light(view[far_first])
                sheet.faces(placed[far_first], np.clip(lit[:, None] * base, 0, 1))

    return draw


def _light(corners: Array) -> Array:
    """Return how bright triangles ``(F, 3, 3)`` are; all are seen from their outer side."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True).clip(min=1e-12)
    normal *= np.where(normal[:, 2:] < 0, -1, 1)
    return 0.5 + 0.6 * (normal @ LIGHT).clip(min=0)
