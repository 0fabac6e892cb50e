"""Pictures of the ``views`` experiment: what goes in, what comes out, and the clouds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from symsets.extras import require
from symsets.geometry import agreement, union_of_views
from symsets.report._drawing import INK, Picture, canvas, style
from symsets.report.models import look

__all__ = ["errors_figure", "views_figure"]

SIDES = ((35.0, 25.0), (-140.0, 25.0))  # azimuth and elevation, degrees
MAX_POINTS = 4000


def views_figure(
    image: Tensor,
    target: Tensor,
    points: Tensor,
    outputs: Mapping[str, Tensor],
    *,
    name: str = "views",
    title: str = "",
) -> Picture:
    """Draw one object: its images, true and predicted maps, and clouds from two sides.

    Args:
        image: The images of a set.
        target: The true mask, front and back.
        points: Points on the true surface.
        outputs: What each model predicts: mask logits, front and back.
        name: Of the file.
        title: What the object is.

    Shape:
        - image: ``(N, 3, H, W)``; target and outputs: ``(N, 7, H, W)``; points: ``(P, 3)``.
    """
    N = len(image)
    rows = [("truth", target, points), *_clouds(outputs)]
    figure = require("matplotlib.figure", "experiments").Figure(
        figsize=(1.15 * (2 * N + 5), 1.3 * (len(rows) + 1)), layout="constrained"
    )
    # columns: fronts, backs, and twice two for the clouds
    grid = figure.add_gridspec(len(rows) + 1, 2 * N + 4)
    for k in range(N):
        axis = figure.add_subplot(grid[0, k])
        _show(axis, image[k], f"view {k + 1}")
    for r, (model, maps, cloud) in enumerate(rows, start=1):
        probable = maps[:, :1] if model == "truth" else maps[:, :1].sigmoid()
        seen = (probable > 0.5).to(maps.dtype)
        for k in range(N):
            front = figure.add_subplot(grid[r, k])
            back = figure.add_subplot(grid[r, N + k])
            _show(front, maps[k, 1:4] * seen[k] + 1 - seen[k], f"front {k + 1}" if r == 1 else "")
            _show(back, maps[k, 4:] * seen[k] + 1 - seen[k], f"back {k + 1}" if r == 1 else "")
            if k == 0:
                front.set_ylabel("truth" if model == "truth" else look(model).label, color=INK)
        for s, side in enumerate(SIDES):
            column = 2 * N + 2 * s
            axis = figure.add_subplot(grid[r, column : column + 2])
            _scatter(axis, cloud, side)
            if s == 1 and model != "truth":
                error = 100 * agreement(cloud, points).chamfer
                axis.set_xlabel(f"Chamfer ×100: {error:.3f}", fontsize=8, color=INK)
    if title:
        figure.suptitle(title, color=INK)
    return Picture(
        name=name,
        caption=(
            "Input views, true and predicted object coordinates (red, green and blue are x, y and "
            "z) of the visible surface and of the back, and the union of all views as a cloud."
        ),
        description=f"{title or 'An object'}: {N} views; rows for the truth, {', '.join(outputs)}.",
        figure=figure,
        models=tuple(outputs),
    )


def _clouds(outputs: Mapping[str, Tensor]) -> list[tuple[str, Tensor, Tensor]]:
    return [(model, maps, union_of_views(maps[None])[0].float()) for model, maps in outputs.items()]


def _show(axis: Any, picture: Tensor, title: str) -> None:
    axis.imshow(picture.detach().float().cpu().clamp(0, 1).movedim(0, -1).numpy())
    axis.set(xticks=[], yticks=[])
    axis.set_title(title, fontsize=8, color=INK)
    for spine in axis.spines.values():
        spine.set_visible(False)


def _scatter(axis: Any, cloud: Tensor, side: tuple[float, float]) -> None:
    """Draw a cloud from one side, what is near over what is far, without perspective."""
    cloud = cloud.detach().float().cpu()
    if len(cloud) > MAX_POINTS:
        cloud = cloud[torch.linspace(0, len(cloud) - 1, MAX_POINTS).long()]
    azimuth, elevation = torch.deg2rad(torch.tensor(side))
    level = elevation.cos()
    towards = torch.stack([level * azimuth.sin(), elevation.sin(), level * azimuth.cos()])
    right = torch.stack([azimuth.cos(), torch.zeros(()), -azimuth.sin()])
    up = torch.linalg.cross(towards, right)
    x, y, near = ((cloud - 0.5) @ torch.stack([right, up, towards]).T).unbind(1)
    order = near.argsort()
    axis.scatter(x[order], y[order], s=1.5, c=cloud[order].clamp(0, 1).numpy(), linewidths=0)
    axis.set(xlim=(-0.55, 0.55), ylim=(-0.45, 0.45), xticks=[], yticks=[], aspect="equal")
    for spine in axis.spines.values():
        spine.set_visible(False)


def errors_figure(
    errors: Mapping[str, Mapping[int, Sequence[float]]],
    *,
    name: str = "views-error",
    title: str = "",
    trained_with: int = 3,
) -> Picture:
    """Draw the error against the number of views.

    Args:
        errors: For each model and number of views, the Chamfer distances (×100) of all seeds.
        name: Of the file.
        title: What the data are.
        trained_with: The number of views in training, which is marked.
    """
    counts = sorted({count for found in errors.values() for count in found})
    with style():
        figure, (axis,) = canvas(4.6, 3.2)
        for model, found in errors.items():
            _draw_errors(axis, model, found)
        axis.axvline(trained_with, color=INK, linewidth=0.6, linestyle=":")
        axis.set(xlabel="views", ylabel="Chamfer distance ×100", xticks=counts, title=title)
        axis.set_ylim(bottom=0)
        axis.legend(fontsize=8)
    return Picture(
        name=name,
        caption=f"Error against the number of views, for networks trained with {trained_with}.",
        description=f"Lines for {', '.join(errors)} over {counts} views.",
        figure=figure,
        models=tuple(errors),
    )


def _draw_errors(axis: Any, model: str, found: Mapping[int, Sequence[float]]) -> None:
    seen = look(model)
    values = {n: torch.tensor(found[n], dtype=torch.float64) for n in sorted(found)}
    axis.errorbar(
        list(values),
        [v.mean().item() for v in values.values()],
        yerr=[v.std(correction=0).item() for v in values.values()],
        label=seen.label,
        color=seen.colour,
        marker=seen.marker,
        linestyle=seen.line,
        capsize=2,
    )
