"""Pictures of sets of shapes: what was asked, what is right, and what each model picked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from symsets.extras import require
from symsets.report._drawing import style
from symsets.report.models import look

__all__ = ["picture"]

SKIN, GHOST, RIGHT, WRONG = "#8fa9ba", "#c9d2d8", "#2a8f5b", "#c0453a"
LIGHT = np.array([0.35, 0.55, 0.76])
Array = np.ndarray[Any, np.dtype[Any]]


def picture(
    x: Tensor,
    faces: Tensor | None,
    target: Tensor | Sequence[int] | int,
    picks: Mapping[str, Tensor | Sequence[int] | int],
    path: str | Path,
    *,
    turn: float = 25.0,
) -> Path:
    """Draw sets of shapes, the central frame of each, and the frames that models picked.

    Every set takes two rows. The first shows it as the models see it, in its shuffled order, with
    the central frame underlined. The second shows the central frame, then the pick of each model
    (in green or red) before the shadow of the central frame.

    Args:
        x: One set ``(N, 3, V)`` or several ``(S, N, 3, V)``; y points up.
        faces: Triangles ``(F, 3)``; points are drawn where there are none.
        target: The place of the central frame, one for each set.
        picks: The places that models picked, by the name of the model.
        path: Where to write the picture; its ending says in which format.
        turn: By how many degrees the shapes turn from the front view.

    Returns:
        The path.
    """
    sets = x if x.ndim == 4 else x[None]
    if sets.ndim != 4 or sets.shape[2] != 3:
        raise ValueError(f"x must be (N, 3, V) or (S, N, 3, V), got shape {tuple(x.shape)}")
    num_sets, num_frames = sets.shape[:2]
    truth = _places("target", target, num_sets, num_frames)
    chosen = {name: _places(name, pick, num_sets, num_frames) for name, pick in picks.items()}
    views = _turned(sets, turn)
    triangles = None if faces is None else faces.cpu().numpy()
    columns = max(num_frames, 1 + len(chosen))
    with style():
        figure = require("matplotlib.figure", "experiments").Figure(
            figsize=(1.2 * columns, 2.9 * num_sets), layout="constrained"
        )
        rows = figure.subplots(2 * num_sets, columns, squeeze=False)
        for axis in rows.flat:
            axis.set_axis_off()
        for s in range(num_sets):
            _draw_set(rows[2 * s], views[s], triangles, truth[s])
            _draw_picks(
                rows[2 * s + 1], views[s], triangles, truth[s], {m: c[s] for m, c in chosen.items()}
            )
        where = Path(path)
        where.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(where, dpi=150, facecolor="white")
    return where


def _places(name: str, given: Any, num_sets: int, num_frames: int) -> list[int]:
    places = torch.as_tensor(given).reshape(-1).tolist()
    if len(places) != num_sets or not all(0 <= place < num_frames for place in places):
        raise ValueError(
            f"{name} must have one place in 0..{num_frames - 1} for each of {num_sets} sets, "
            f"got {places}"
        )
    return places


def _turned(sets: Tensor, turn: float) -> Array:
    """Return the vertices of all shapes as ``(S, N, V, 3)``, turned about the upright axis."""
    angle = math.radians(turn)
    c, s = math.cos(angle), math.sin(angle)
    rotation = torch.tensor([[c, 0, s], [0, 1, 0], [-s, 0, c]], dtype=torch.float64)
    return (rotation @ sets.detach().cpu().double()).mT.numpy()


def _draw_set(axes: Any, views: Array, faces: Array | None, truth: int) -> None:
    for i, view in enumerate(views):
        _draw_shape(axes[i], view, views, faces, SKIN)
        if i == truth:
            axes[i].plot([0.3, 0.7], [0.0, 0.0], color=RIGHT, lw=3, transform=axes[i].transAxes)
        axes[i].set_title(f"{i + 1}" if i else "shuffled: 1", fontsize=8)


def _draw_picks(
    axes: Any, views: Array, faces: Array | None, truth: int, picks: Mapping[str, int]
) -> None:
    _draw_shape(axes[0], views[truth], views, faces, RIGHT)
    axes[0].set_title(f"central frame: {truth + 1}", fontsize=8, color=RIGHT)
    for axis, (model, pick) in zip(axes[1:], picks.items(), strict=False):
        colour, mark = (RIGHT, "right") if pick == truth else (WRONG, "wrong")
        if pick != truth:
            _draw_shape(axis, views[truth], views, faces, GHOST, flat=True)
        _draw_shape(axis, views[pick], views, faces, colour)
        axis.set_title(f"{look(model).label}\n{pick + 1}: {mark}", fontsize=8, color=colour)


def _draw_shape(
    axis: Any, view: Array, views: Array, faces: Array | None, colour: str, *, flat: bool = False
) -> None:
    """Draw one shape from the front; all shapes of a set at one scale."""
    base = np.array(require("matplotlib.colors", "experiments").to_rgb(colour))
    if faces is None:
        order = view[:, 2].argsort()
        near = (view[order, 2:] - view[:, 2].min()) / max(float(np.ptp(view[:, 2])), 1e-9)
        tones = base[None] if flat else 1 - (0.35 + 0.65 * near) * (1 - base)
        axis.scatter(view[order, 0], view[order, 1], s=1.5, c=tones, linewidths=0)
    else:
        corners = view[faces]  # (F, 3, 3)
        order = corners[..., 2].mean(1).argsort()  # far ones first
        corners = corners[order]
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True).clip(min=1e-12)
        lit = np.ones(len(normal)) if flat else 0.45 + 0.55 * np.abs(normal @ LIGHT)
        tones = np.clip(lit[:, None] * base, 0, 1)
        collection = require("matplotlib.collections", "experiments").PolyCollection(
            corners[..., :2], facecolors=tones, edgecolors=tones, linewidths=0.2
        )
        axis.add_collection(collection)
    low, high = views[..., :2].min((0, 1)), views[..., :2].max((0, 1))
    middle, half = (low + high) / 2, 0.53 * (high - low).max()
    axis.set_xlim(middle[0] - half, middle[0] + half)
    axis.set_ylim(middle[1] - half, middle[1] + half)
    axis.set_aspect("equal")
