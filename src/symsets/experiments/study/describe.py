"""From what users type to a study, and what a study says before it starts."""

from __future__ import annotations

import re
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from symsets._checks import check_choice
from symsets.cli import parse as words
from symsets.data.folders import files_below
from symsets.data.splits import fraction
from symsets.experiments.study.catalogue import DATA_SUFFIXES
from symsets.experiments.study.experiment import RECIPES, Experiment, Source, StudyConfig
from symsets.experiments.study.study import Study
from symsets.nn.registry import is_scheme, schemes
from symsets.train.step import PRECISIONS

__all__ = ["announcement", "data_slug", "make_study", "plain"]


def make_study(
    experiment: Experiment[Any],
    out: Path,
    *,
    preset: str = "quick",
    models: str | None = None,
    train_sizes: str | None = None,
    seeds: int | None = None,
    recipe: str = "ours",
    device: str = "cpu",
    precision: str = "float32",
    learning_rate: str | None = None,
    epochs: int | None = None,
    data_seed: int = 0,
    data: str | None = None,
    settings: str | None = None,
    together: bool = False,
) -> Study:
    """Return the study that a user described in words; one sentence for each wrong one."""
    check_choice("recipe", recipe, RECIPES)
    check_choice("preset", preset, experiment.presets)
    chosen = experiment.presets[preset]
    if models is not None:
        choices = list(dict.fromkeys([*experiment.models, *schemes()]))
        chosen = replace(chosen, models=words.names("models", models, choices, also=is_scheme))
    if recipe == "published" and chosen.published_epochs is not None:
        chosen = replace(chosen, epochs=(chosen.published_epochs,) * len(chosen.train_sizes))
    if train_sizes is not None:
        sizes = words.sizes("train-sizes", train_sizes)
        chosen = replace(chosen, train_sizes=sizes, epochs=tuple(map(chosen.epochs_at, sizes)))
    if epochs is not None:
        chosen = replace(chosen, epochs=(epochs,) * len(chosen.train_sizes))
    if seeds is not None:
        chosen = replace(chosen, seeds=seeds)
    if learning_rate is None:
        rate: float | None = experiment.learning_rate(recipe)
    else:
        rate = words.learning_rate(learning_rate)
    config = StudyConfig(preset, recipe, rate, epochs, data_seed, precision)
    check_choice("precision", precision, PRECISIONS)
    data = experiment.default_data if data is None else data
    source = experiment.open_source(data, data_seed)
    allowed = experiment.settings_of(source)
    if settings is not None:
        if not any(allowed):
            raise ValueError(f"{experiment.name} has no settings on these data, got {settings!r}")
        chosen = replace(chosen, settings=words.names("settings", settings, allowed))
    known = tuple(setting for setting in chosen.settings if setting in allowed)
    chosen = replace(chosen, settings=known or allowed)
    experiment.check_source(source, chosen)
    where = data_slug(data, source) if data else ""
    _refuse_namesakes(out, where, source.name)
    return Study(experiment, out, chosen, config, source, device, data=where, together=together)


def _refuse_namesakes(out: Path, slug: str, name: str) -> None:
    """Refuse a study with runs on other data of the same name: tables could not tell them apart."""
    same_name = re.compile(rf"{re.escape(plain(name))}(_[0-9a-f]{{5}})?-")
    for run in (out / "runs").glob("*"):
        if slug and same_name.match(run.name) and not run.name.startswith(f"{slug}-"):
            raise ValueError(
                f"{out} holds runs on other data that are called {name!r}, too: choose another "
                "--out"
            )


def plain(name: str) -> str:
    """Return a name as it may stand in that of a file."""
    return re.sub(r"[^\w.]+", "_", name)


def data_slug(data: str, source: Source) -> str:
    """Return a name for data; folders and packs of one name but other contents get others."""
    slug = plain(source.name)
    path = _path_of(data, source)
    return f"{slug}_{int(2**20 * fraction(_contents(path))):05x}" if path else slug


def _path_of(data: str, source: Source) -> Path | None:
    """Return the pack that a source reads, or its folder if that is what the user named."""
    place = getattr(source, "path", None) or getattr(source, "root", None)
    if place is None:
        return None
    path = Path(place)
    named = path.is_dir() and Path(data).is_dir() and path.samefile(data)
    return path if named or path.is_file() else None


def _contents(path: Path) -> str:
    """Return names and sizes of all files of data, with checksums where a pack has them."""
    if path.is_dir():
        names = files_below(path, DATA_SUFFIXES)
        files = sorted(file for name in names if (file := path / name).is_file())
        return "\n".join(f"{file.relative_to(path)} {file.stat().st_size}" for file in files)
    with zipfile.ZipFile(path) as pack:
        return "\n".join(f"{item.filename} {item.CRC}" for item in pack.infolist())


def announcement(study: Study) -> str:
    """Say what a study is about to do."""
    preset, runs = study.preset, sum(len(group.seeds) for group in study.groups)
    width = "" if preset.width == 1 else f", networks {preset.width:g} times as wide as published"
    sizes = " and ".join(f"{size:,}" for size in preset.train_sizes)
    left = f"{runs} run{'s' if runs > 1 else ''} to go" if runs else "all runs are finished"
    per = "model, setting and size" if len(preset.settings) > 1 else "model and size"
    lines = [
        f"  models  {', '.join(preset.models)}",
        f"  sets    {sizes} for training{width}",
        f"  runs    {preset.seeds} per {per}, on {study.device}; {left}",
    ]
    if any(preset.settings):
        lines.insert(1, f"  setting {', '.join(preset.settings)}")
    if study.experiment.default_data:
        lines.insert(1, f"  data    {study.source.name}")
    if runs:
        lines.append(f"          the whole preset takes {preset.duration}")
    return study.experiment.story + "\n\n" + "\n".join(lines) + "\n"
