"""Sheets of objects: the views that go in, what comes out, and the clouds."""

from typing import Any

import torch
from torch import Tensor

from symsets.experiments.report._answers import Sets
from symsets.experiments.views.distances import agreement
from symsets.experiments.views.evaluation import union_of_views
from symsets.pages.drawing import Picture
from symsets.pages.sheets import Line, Sheet, Tile

SIDES = ((35.0, 25.0), (-140.0, 25.0))  # azimuth and elevation, degrees
MAX_POINTS = 4000
AIR = 0.14  # between fronts, backs and clouds


def draw_views(sets: Sets) -> Picture:
    """Draw objects: their images, true and predicted maps, and clouds from two sides.

    Args:
        sets: Images ``(S, N, 3, H, W)`` with the true mask, front and back as targets
            ``(S, N, 7, H, W)``, and answers of that shape. More holds true ``points (S, P, 3)``.
    """
    S, N = sets.x.shape[:2]
    sheet = Sheet(2 * N + len(SIDES), left=1.0, largest=1.1, space=2 * AIR)
    errors: dict[str, list[float]] = {model: [] for model in sets.answers}
    for s, points in enumerate(sets.more["points"]):
        views = [Tile(view, Line(f"view {k + 1}")) for k, view in enumerate(sets.x[s])]
        sheet.row(views, [Line(f"set {s + 1}", bold=True)])
        target, heads = sets.target[s], ("seen surface", "far surface", "cloud")
        sheet.row(_maps(target, target[:, :1] > 0.5, points, heads), [Line("truth")])
        for model, answer in sets.answers.items():
            output = answer.output[s]
            cloud = union_of_views(output[None].float())[0]
            errors[model].append(100 * agreement(cloud, points.float()).chamfer)
            error = Line(f"Chamfer {errors[model][-1]:.4f}")
            tiles = _maps(output, output[:, :1] > 0, cloud)
            sheet.row(tiles, [sets.name(model, bold=True), error])
    return sheet.close(
        "Input views; true and predicted object coordinates (red, green and blue are x, y and "
        "z) of the surface that is seen and of the far one behind it; and the union of all "
        "views as a cloud, from two sides. Under the name of a model: the Chamfer distance of "
        "its cloud to the true surface, ×100.",
        f"{S} objects in {N} views each: the truth, and what models make of them. "
        f"Mean Chamfer distances ×100: {sets.means(errors, 4)}.",
    )


def _maps(
    maps: Tensor, inside: Tensor, cloud: Tensor, heads: tuple[str, ...] = ("", "", "")
) -> list[Tile]:
    """Return the coordinates of pixels that lie inside, front and back, and a cloud."""
    parts = (maps[:, 1:4], maps[:, 4:])
    covered = [torch.cat([part, inside.to(part.dtype)], dim=1).float() for part in parts]
    contents: list[Any] = [[*covered[0]], [*covered[1]], [_cloud(cloud, side) for side in SIDES]]
    return [
        Tile(content, Line(head) if head else None, space=AIR if group and k == 0 else 0.0)
        for group, (found, head) in enumerate(zip(contents, heads, strict=True))
        for k, content in enumerate(found)
    ]


def _cloud(cloud: Tensor, direction: tuple[float, float]) -> Any:
    """Return what draws a cloud."""

    def draw(sheet: Sheet, x: float, y: float) -> None:
        across, up, colours = _seen_from(direction, cloud)
        side = sheet.side
        sheet.points(x + side * (0.5 + across), y + side * (0.5 - up), s=1.5, c=colours)

    return draw


def _seen_from(direction: tuple[float, float], cloud: Tensor) -> tuple[Any, Any, Any]:
    """Return where points appear without perspective, and their colours; far ones first.

    True shapes are in the unit cube with a diagonal of 1; what lies outside is not shown.
    """
    cloud = cloud.float()
    if len(cloud) > MAX_POINTS:
        cloud = cloud[torch.linspace(0, len(cloud) - 1, MAX_POINTS).long()]
    azimuth, elevation = torch.deg2rad(torch.tensor(direction))
    level = elevation.cos()
    towards = torch.stack([level * azimuth.sin(), elevation.sin(), level * azimuth.cos()])
    right = torch.stack([azimuth.cos(), torch.zeros(()), -azimuth.sin()])
    up = torch.linalg.cross(towards, right)
    x, y, near = ((cloud - 0.5) @ torch.stack([right, up, towards]).T).unbind(1)
    order = near.argsort()
    order = order[(x.abs().maximum(y.abs()) < 0.5)[order]]
    return x[order].numpy(), y[order].numpy(), cloud[order].clamp(0, 1).numpy()
