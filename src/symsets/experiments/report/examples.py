"""Example sets: the first test sets, and what every model made of them."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from symsets.experiments.frames import sets as frames
from symsets.experiments.quality import sets as quality
from symsets.experiments.report._answers import draw_bursts, draw_colors
from symsets.experiments.report._choices import draw_choices
from symsets.experiments.report._drawing import Picture, style
from symsets.experiments.report._sheets import Answer, Sets
from symsets.experiments.report.load_records import Comparison
from symsets.experiments.report.models import BASELINES
from symsets.experiments.report.runs import Run
from symsets.experiments.report.shapes import draw_shapes
from symsets.experiments.report.views import draw_views

__all__ = ["examples", "read_examples"]


@dataclass(frozen=True)
class _Kind:
    """How the sets of an experiment were kept, and how they are shown.

    Attributes:
        draw: Makes the picture.
        scale: Pixel = scale times value plus offset: screens show [0, 1], which answers may leave.
        offset: See there.
        num_axes: Of the sets.
        kept: The names of arrays with an entry for each set: the sets, the targets, and more.
        shared: Names of arrays that all sets share, where they have been kept.
        most: How many sets are shown.
    """

    draw: Callable[[Sets], Picture]
    scale: float = 1.0
    offset: float = 0.0
    num_axes: int = 5
    kept: tuple[str, ...] = ("x", "target")
    shared: tuple[str, ...] = ()
    most: int = 4


_BEST = "the copy that is closest to the clean photograph"
KINDS = {
    "quality": _Kind(partial(draw_choices, goal=_BEST), quality.SPREAD, quality.MEAN),
    "frames": _Kind(partial(draw_choices, goal="the earliest frame"), frames.SPREAD, frames.MEAN),
    "colors": _Kind(draw_colors),
    "bursts": _Kind(draw_bursts, 0.5, 0.5),
    "shapes": _Kind(draw_shapes, num_axes=4, shared=("faces",)),
    "views": _Kind(draw_views, kept=("x", "maps", "points"), most=2),
}


def examples(comparison: Comparison) -> Picture | None:
    """Draw the example sets of a comparison; nothing where a study has left none."""
    sets = read_examples(comparison)
    if sets is None:
        return None
    with style():
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
    x = target = None
    more: dict[str, Tensor] = {}
    answers: dict[str, Answer] = {}
    for run in sorted(_runs(comparison), key=lambda run: run.config["seed"]):
        model = run.config["model"]
        found = None if model in answers else _first_sets(run.example_sets, kind)
        if found is None:
            continue
        if x is None or target is None:
            x, target, more = found
        elif not (torch.equal(found[0], x) and torch.equal(found[1], target)):
            continue
        output = _output(run.folder, x, target)
        if output is not None:
            answers[model] = Answer(output, run.config["seed"])
    if x is None or target is None or not answers:
        return None

    def seen(value: Tensor) -> Tensor:
        return kind.scale * value + kind.offset

    if target.is_floating_point():
        target = seen(target)
        answers = {m: replace(a, output=seen(a.output)) for m, a in answers.items()}
    in_order = {model: answers[model] for model in comparison.models if model in answers}
    return Sets(seen(x), target, in_order, more)


def _first_sets(path: Path, kind: _Kind) -> tuple[Tensor, Tensor, dict[str, Tensor]] | None:
    """Return sets, targets and further arrays of a file; None if one is missing."""
    found = _arrays(path, *kind.kept)
    if found is None or found[0].ndim != kind.num_axes:
        return None
    x, target, *others = (array[: kind.most] for array in found)
    more = dict(zip(kind.kept[2:], others, strict=True))
    for name in kind.shared:
        if shared := _arrays(path, name):
            more[name] = shared[0]
    return x, target, more


def _runs(comparison: Comparison) -> Iterator[Run]:
    """Find the runs of all models at the largest size, and those of baselines."""
    for run in comparison.runs:
        model, size, seed = (run.config.get(word) for word in ("model", "train_size", "seed"))
        wanted = 0 if model in BASELINES else comparison.largest
        if model in comparison.models and size == wanted and isinstance(seed, int):
            yield run


def _output(folder: Path, x: Tensor, target: Tensor) -> Tensor | None:
    """Return a run's outputs for the sets; None if they were not kept or are of other sets."""
    if target.is_floating_point():
        found = _arrays(folder / "examples.npz", "output")
        output = found[0][: len(x)] if found else None
        fits = output is not None and output.shape == target.shape
    else:
        found = _arrays(folder / "predictions.npz", "output", "target")
        output = found[0][: len(x)] if found else None
        fits = (
            found is not None
            and output is not None
            and output.shape == x.shape[:2]
            and torch.equal(found[1][: len(x)], target)
        )
    return output if output is not None and fits and output.isfinite().all() else None


def _arrays(path: Path, *names: str) -> list[Tensor] | None:
    """Read some arrays of a file, floats in single precision; nothing if it cannot be read."""
    try:
        with path.open("rb") as file, np.load(file) as content:
            found = [torch.from_numpy(content[name]) for name in names]
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
    return [a.float() if a.is_floating_point() else a for a in found]
