"""Pictures of the ``views`` experiment: what goes in, what comes out, and the clouds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from symsets.experiments.report._drawing import INK, Picture, canvas, far_apart, label_ends, style
from symsets.experiments.report._sheets import GAP, LINE, Sets, Sheet, named, side_of
from symsets.experiments.report.load_records import Score
from symsets.experiments.report.metrics import display_of
from symsets.experiments.report.models import style_of
from symsets.experiments.views.clouds import union_of_views
from symsets.experiments.views.distances import agreement

__all__ = ["draw_views", "errors_figure"]

SIDES = ((35.0, 25.0), (-140.0, 25.0))  # azimuth and elevation, degrees
MAX_POINTS = 4000
LEFT, AIR, LARGEST = 1.0, 0.14, 1.1  # for names; between fronts, backs and clouds; of a map

_CHAMFER = display_of("chamfer")


def draw_views(sets: Sets) -> Picture:
    """Draw objects: their images, true and predicted maps, and clouds from two sides.

    Args:
        sets: Images ``(S, N, 3, H, W)`` with the true mask, front and back as targets
            ``(S, N, 7, H, W)``, and answers of that shape. More holds true ``points (S, P, 3)``.
    """
    errors: dict[str, list[float]] = {model: [] for model in sets.answers}
    labels = {model: named(model, answer) for model, answer in sets.answers.items()}
    with style():
        page = _Objects(sets.x.shape[1])
        for s, points in enumerate(sets.more["points"]):
            page.draw_truth(f"set {s + 1}", sets.x[s], sets.target[s], points)
            for model, answer in sets.answers.items():
                output = answer.output[s]
                cloud = union_of_views(output[None].float())[0]
                errors[model].append(100 * agreement(cloud, points.float()).chamfer)
                page.name(labels[model], style_of(model).colour, errors[model][-1])
                page.draw_maps(output, output[:, :1] > 0, cloud)
            page.sheet.y += 0.15
    means = ", ".join(f"{labels[m]} {_CHAMFER.show(sum(e) / len(e))}" for m, e in errors.items())
    return Picture(
        name="views",
        caption=(
            "Input views; true and predicted object coordinates (red, green and blue are x, y and "
            "z) of the surface that is seen and of the far one behind it; and the union of all "
            "views as a cloud, from two sides. Under the name of a model: the Chamfer distance of "
            "its cloud to the true surface, ×100."
        ),
        description=f"{len(sets.x)} objects in {sets.x.shape[1]} views each: the truth, and what "
        f"models make of them. Mean Chamfer distances ×100: {means}.",
        figure=page.sheet.close(),
        models=tuple(sets.answers),
        wide=True,
    )


class _Objects:
    """A sheet with a row for the truth and for each model: fronts, backs and clouds."""

    def __init__(self, num_views: int) -> None:
        self.sheet = Sheet()
        self.side = side_of(2 * num_views + len(SIDES), LEFT + 2 * AIR, LARGEST)
        step = self.side + GAP
        self.fronts = [LEFT + k * step for k in range(num_views)]
        self.backs = [x + num_views * step + AIR for x in self.fronts]
        self.clouds = [self.backs[-1] + AIR + (k + 1) * step for k in range(len(SIDES))]

    def draw_truth(self, title: str, image: Tensor, target: Tensor, points: Tensor) -> None:
        """Draw the images of an object and, below, its true maps and surface."""
        sheet, side = self.sheet, self.side
        sheet.text(title, GAP, sheet.y + LINE / 2, ha="left", weight="bold")
        for k, (pixels, x) in enumerate(zip(image, self.fronts, strict=True)):
            sheet.text(f"view {k + 1}", x + side / 2, sheet.y + LINE / 2)
            sheet.picture(pixels.float(), x, sheet.y + LINE, side)
        sheet.y += LINE + side + 0.05
        heads = {
            "seen surface": self.fronts,
            "far surface": self.backs,
            "cloud, from two sides": self.clouds,
        }
        for head, columns in heads.items():
            sheet.text(head, (columns[0] + columns[-1] + side) / 2, sheet.y + LINE / 2)
        sheet.y += LINE
        sheet.text("truth", GAP, sheet.y + side / 2, ha="left")
        self.draw_maps(target, target[:, :1] > 0.5, points)

    def name(self, label: str, colour: str, error: float) -> None:
        """Write the name of a model and its error to the left of the next row."""
        sheet, y = self.sheet, self.sheet.y + self.side / 2
        room = LEFT - 2 * GAP
        sheet.words(label, GAP, y - LINE / 2, room, ha="left", color=colour, weight="bold")
        sheet.words(f"Chamfer {_CHAMFER.show(error)}", GAP, y + LINE / 2, room, ha="left")

    def draw_maps(self, maps: Tensor, inside: Tensor, cloud: Tensor) -> None:
        """Draw a row: the coordinates of pixels that lie inside, and a cloud."""
        sheet, side = self.sheet, self.side
        for columns, part in ((self.fronts, maps[:, 1:4]), (self.backs, maps[:, 4:])):
            covered = torch.cat([part, inside.to(part.dtype)], dim=1).float()
            for pixels, x in zip(covered, columns, strict=True):
                sheet.picture(pixels, x, sheet.y, side)
        for x, direction in zip(self.clouds, SIDES, strict=True):
            across, up, colours = _seen_from(direction, cloud)
            places = x + side * (0.5 + across), sheet.y + side * (0.5 - up)
            sheet.points(*places, right=x + side, s=1.5, c=colours)
        sheet.y += side + GAP


def _seen_from(direction: tuple[float, float], cloud: Tensor) -> tuple[Any, Any, Any]:
    """Return where points appear without perspective, and their colours; far ones first.

    True shapes are in the unit cube with a diagonal of 1; what lies outside is not shown.
    """
    cloud = cloud.detach().float().cpu()
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
        figure, (axis,) = canvas(5.6, 3.2)
        ends = [_draw_errors(axis, model, found) for model, found in errors.items()]
        axis.axvline(trained_with, color=INK, linewidth=0.6, linestyle=":")
        axis.set(xlabel="views", ylabel="Chamfer distance ×100", xticks=counts, title=title)
        if far_apart(
            value for found in errors.values() for some in found.values() for value in some
        ):
            axis.set_yscale("log")
        else:
            axis.update_datalim([(counts[0], 0.0)])  # the margin is a share of all above 0
            axis.autoscale_view()
            axis.set_ylim(bottom=0)
        axis.margins(x=0.02)
        label_ends(axis, ends)
    return Picture(
        name=name,
        caption=f"Error against the number of views, for networks trained with {trained_with}.",
        description=f"Lines for {', '.join(errors)} over {counts} views.",
        figure=figure,
        models=tuple(errors),
    )


def _draw_errors(
    axis: Any, model: str, found: Mapping[int, Sequence[float]]
) -> tuple[float, str, str]:
    """Draw a line, and return its end."""
    seen = style_of(model)
    counts = sorted(found)
    scores = [Score(tuple(found[count])) for count in counts]
    means = [score.mean for score in scores]
    axis.errorbar(
        counts,
        means,
        yerr=[score.std or 0.0 for score in scores],
        color=seen.colour,
        marker=seen.marker,
        linestyle=seen.line,
        capsize=2,
    )
    return means[-1], seen.label, seen.colour
