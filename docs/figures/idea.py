"""The picture of the idea."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

BLUE, ORANGE, GREY = "#2a6f97", "#e07a3f", "#555555"
HEIGHTS = (5.2, 3.4, 1.6)


def wave(axis: Axes, x: float, y: float, values: torch.Tensor, colour: str) -> None:
    """A small signal in a frame."""
    box = FancyBboxPatch((x, y), 2, 1.1, boxstyle="round,pad=0.05", fc="white", ec="#bbbbbb")
    axis.add_patch(box)
    steps = torch.linspace(x + 0.1, x + 1.9, len(values))
    axis.plot(steps, y + 0.55 + 0.36 * values / values.abs().max(), color=colour, lw=1.3)


def box(axis: Axes, x: float, y: float, text: str, colour: str) -> None:
    patch = FancyBboxPatch((x, y), 1, 0.8, boxstyle="round,pad=0.08", fc=colour, ec="none")
    axis.add_patch(patch)
    axis.text(x + 0.5, y + 0.4, text, color="white", ha="center", va="center", fontsize=13)


def arrow(axis: Axes, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    style = {"arrowstyle": "-|>", "mutation_scale": 11, "shrinkA": 1, "shrinkB": 1, "lw": 1.3}
    axis.add_patch(FancyArrowPatch(start, end, color=colour, **style))


def draw(path: Path, **options: Any) -> None:
    """Write the picture."""
    torch.manual_seed(3)
    clean = torch.sin(torch.linspace(0, 12.56, 60))
    noisy = [clean + 0.8 * torch.randn(60) for _ in HEIGHTS]
    total = torch.stack(noisy).sum(0)
    fig, axis = plt.subplots(figsize=(10, 4.6), layout="constrained")
    for y, values in zip(HEIGHTS, noisy, strict=True):
        wave(axis, 0, y, values, BLUE)
        arrow(axis, (2.15, y + 0.55), (4.85, y + 0.55), BLUE)
        box(axis, 5, y + 0.15, "$L_1$", BLUE)
        arrow(axis, (6.15, y + 0.55), (8.15, y + 0.55), BLUE)
        axis.text(8.4, y + 0.53, "+", fontsize=19, color=GREY, ha="center", va="center")
        arrow(axis, (8.65, y + 0.55), (9.35, y + 0.55), GREY)
        wave(axis, 9.5, y, values + 1.4 * total / 3, GREY)
        arrow(axis, (2.15, y + 0.45), (2.75, 0.62), ORANGE)
        arrow(axis, (7.2, 0.45), (8.35, y + 0.3), ORANGE)
    axis.text(2.95, 0.3, r"$\Sigma$", fontsize=19, color=ORANGE, ha="center", va="center")
    wave(axis, 3.35, -0.25, total, ORANGE)
    arrow(axis, (5.45, 0.3), (6.0, 0.3), ORANGE)
    box(axis, 6.1, -0.1, "$L_2$", ORANGE)
    axis.text(1, 6.6, "a set of $N$ elements", ha="center", fontsize=12)
    axis.text(10.5, 6.6, "every element, in the light of its set", ha="center", fontsize=12)
    axis.text(
        5.75,
        -1.05,
        r"$L(X)_i \;=\; L_1(x_i) \;+\; L_2\left(\Sigma_j\, x_j\right)$",
        ha="center",
        fontsize=16,
    )
    axis.set(xlim=(-0.3, 12), ylim=(-1.4, 7), aspect="equal")
    axis.axis("off")
    fig.savefig(path, **options)
    plt.close(fig)
