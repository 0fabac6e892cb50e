"""Example sets: the first test sets, and what every model made of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from symsets._files import named_errors
from symsets.experiments.frames import sets as frames
from symsets.experiments.quality import sets as quality
from symsets.experiments.report._answers import Answer, Sets
from symsets.experiments.report._images import draw_bursts, draw_choices, draw_colors
from symsets.experiments.report._scenes import draw_scenes
from symsets.experiments.report._shapes import draw_shapes
from symsets.experiments.report._views import draw_views
from symsets.experiments.report.comparison import Comparison
from symsets.experiments.report.runs import read_tensors
from symsets.pages.drawing import Picture
from symsets.pages.styles import BASELINES


@dataclass(frozen=True)
class _Kind:
    """How the sets of an experiment were kept, and how they are shown.

    Attributes:
        draw: Makes the picture.
        scale: Pixel = scale times value plus offset: screens show [0, 1], which answers may leave.
        offset: See there.
        kept: The names of arrays with an entry for each set: the sets, the targets, and more.
        most: How many sets are shown.
        channels: Of the target, those that a network answers with; all if left out.
    """

    draw: Callable[[Sets], Picture]
    scale: float = 1.0
    offset: float = 0.0
    kept: tuple[str, ...] = ("x", "target")
    most: int = 4
    channels: int | None = None

    def pixels(self, value: Tensor) -> Tensor:
        """Return values as a screen shows them."""
        return self.scale * value + self.offset


_BEST = "the copy that is closest to the clean photograph"
KINDS = {
    "quality": _Kind(partial(draw_choices, goal=_BEST), quality.SPREAD, quality.MEAN),
    "frames": _Kind(partial(draw_choices, goal="the earliest frame"), frames.SPREAD, frames.MEAN),
    "colors": _Kind(draw_colors),
    "bursts": _Kind(draw_bursts, 0.5, 0.5),
    "shapes": _Kind(draw_shapes),
    "views": _Kind(draw_views, kept=("x", "maps", "points"), most=2),
    "satellite": _Kind(draw_scenes, most=3, channels=1),
}


def examples(comparison: Comparison) -> Picture | None:
    """Draw the example sets of a comparison; nothing where a study has left none."""
    if not comparison.runs:
        return None
    with named_errors(comparison.runs[0].folder.parents[1] / "examples", "cannot be shown"):
        sets = read_examples(comparison)
        if sets is None:
            return None
        drawn = KINDS[comparison.experiment].draw(sets)
    size, caption = comparison.largest, f"The first {len(sets.x)} test sets. {drawn.caption}"
    if size:
        caption += f" Answers are those of each model's first run with {size:,} training sets."
    return replace(drawn, name=f"{comparison.slug}-examples", caption=caption)


def read_examples(comparison: Comparison) -> Sets | None:
    """Return the first test sets, images in pixel values, and what models answered.

    Of each model the first initialisation at the largest training size counts. Answers to other
    sets than the first folder's are left out.
    """
    kind = KINDS.get(comparison.experiment)
    if kind is None or comparison.split != "test":
        return None
    first: dict[str, Tensor] = {}
    answers: dict[str, Answer] = {}
    for run in sorted(comparison.runs, key=lambda run: run.seed):
        size = 0 if run.model in BASELINES else comparison.largest
        if run.model in answers or run.train_size != size:
            continue
        kept = read_tensors(run.example_sets)
        if not kept.keys() >= {*kind.kept}:
            continue
        kept |= {name: kept[name][: kind.most] for name in kind.kept}
        first = first or kept
        if all(torch.equal(kept[name], first[name]) for name in kind.kept[:2]):
            x, target = (first[name] for name in kind.kept[:2])
            output = _output(run.folder, x, target, kind.channels)
            if output is not None:
                answers[run.model] = Answer(output, run.seed)
    if not answers:
        return None
    x, target = (first.pop(name) for name in kind.kept[:2])
    if target.is_floating_point():
        target = kind.pixels(target)
        answers = {m: replace(a, output=kind.pixels(a.output)) for m, a in answers.items()}
    in_order = {model: answers[model] for model in comparison.models if model in answers}
    return Sets(kind.pixels(x), target, in_order, more=first)


def _output(folder: Path, x: Tensor, target: Tensor, channels: int | None) -> Tensor | None:
    """Return a run's outputs for the sets; None if they were not kept or are of other sets."""
    selects = not target.is_floating_point()
    found = read_tensors(folder / ("predictions.npz" if selects else "examples.npz"))
    output = found.get("output", torch.zeros(0))[: len(x)]
    shape = x.shape[:2] if selects else target[:, :channels].shape
    if output.shape != shape or not output.isfinite().all():
        return None
    same_sets = not selects or torch.equal(found["target"][: len(x)], target)
    return output if same_sets else None
