"""From the options of the command line to a study, and what it prints before it starts."""

import re
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from symsets._checks import check_choice
from symsets._files import safe_name
from symsets.cli import parse
from symsets.cli.options import RunOptions
from symsets.data.folders import files_below
from symsets.data.images import ImageFolder
from symsets.data.set_folder import looks_like_sets
from symsets.data.splits import fraction
from symsets.experiments.study.catalogue import DATA_SUFFIXES
from symsets.experiments.study.experiment import Experiment, Preset, Source, StudyConfig
from symsets.experiments.study.study import Study
from symsets.nn.registry import is_scheme, schemes
from symsets.train.step import PRECISIONS


def make_study(experiment: Experiment[Any], options: RunOptions) -> Study:
    """Return the study that a user asks for; raise ValueError naming an option that is wrong."""
    check_choice("recipe", options.recipe, experiment.recipes)
    check_choice("preset", options.preset, experiment.presets)
    check_choice("precision", options.precision, PRECISIONS)
    preset = _chosen_preset(experiment, options)
    lr, recipe = options.lr, options.recipe
    usual = None if preset.equal_chances else experiment.learning_rate(recipe)
    rate = usual if lr is None else parse.learning_rate(lr)
    how = options.epochs, options.data_seed, options.precision
    keep = "loss" if preset.equal_chances else None
    config = StudyConfig(options.preset, recipe, rate, *how, keep=keep)
    data = experiment.default_data if options.data is None else options.data
    source = experiment.open_source(data, options.data_seed)
    settings = _chosen_settings(experiment, source, options.settings, preset.settings)
    preset = replace(preset, settings=settings)
    experiment.check_source(source, preset)
    out = Path(options.out or Path("runs") / f"{experiment.name}-{options.preset}")
    slug = data_slug(data, source) if data else ""
    _refuse_namesakes(out, slug, source.name)
    together, device = options.together, options.device
    return Study(experiment, out, preset, config, source, device, data=slug, together=together)


def _chosen_preset(experiment: Experiment[Any], options: RunOptions) -> Preset:
    """Return the preset that a user names, with what the other options change of it."""
    preset = experiment.presets[options.preset]
    if options.models is not None:
        known, taken = experiment.models, experiment.takes_schemes
        choices = list(dict.fromkeys([*known, *schemes()])) if taken else known
        models = parse.names(
            "models", options.models, choices, also=lambda name: taken and is_scheme(name)
        )
        preset = replace(preset, models=models)
    if options.recipe == "published" and preset.published_epochs is not None:
        preset = replace(preset, epochs=(preset.published_epochs,) * len(preset.train_sizes))
    if options.train_sizes is not None:
        sizes = parse.sizes("train-sizes", options.train_sizes)
        preset = replace(preset, train_sizes=sizes, epochs=tuple(map(preset.epochs_at, sizes)))
    if options.epochs is not None:
        preset = replace(preset, epochs=(options.epochs,) * len(preset.train_sizes))
    return preset if options.seeds is None else replace(preset, seeds=options.seeds)


def _chosen_settings(
    experiment: Experiment[Any], source: Any, typed: str | None, usual: Sequence[str]
) -> tuple[str, ...]:
    """Return the settings that a user names; else the usual ones, or all that the data allow."""
    allowed = experiment.settings_of(source)
    if typed is None:
        return tuple(setting for setting in usual if setting in allowed) or allowed
    if not any(allowed):
        raise ValueError(f"{experiment.name} has no settings on these data, got {typed!r}")
    return parse.names("settings", typed, allowed)


def _refuse_namesakes(out: Path, slug: str, name: str) -> None:
    """Refuse a study with runs on other data of the same name: tables could not tell them apart."""
    same_name = re.compile(rf"{re.escape(safe_name(name))}(_[0-9a-f]{{5}})?-")
    for run in (out / "runs").glob("*"):
        if slug and same_name.match(run.name) and not run.name.startswith(f"{slug}-"):
            raise ValueError(
                f"{out} holds runs on other data that are called {name!r}, too: choose another "
                "--out"
            )


def data_slug(data: str, source: Source) -> str:
    """Return a name for data; folders and packs of one name but other contents get others."""
    slug = safe_name(source.name)
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
    if isinstance(study.source, ImageFolder) and looks_like_sets(study.source.root):
        root = study.source.root
        lines.append(
            f"\nThe folders in {root} look like sets of your own. This experiment takes their\n"
            "pictures one by one and makes sets of its own. To learn from yours: symsets train "
            f"{root}"
        )
    if runs and preset.duration:
        lines.append(f"          the whole preset takes {preset.duration}")
    return study.experiment.story + "\n\n" + "\n".join(lines) + "\n"
