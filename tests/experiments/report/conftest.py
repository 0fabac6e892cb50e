"""Two studies as a training run would leave them."""

import json
import math

import pytest

from symsets.experiments import report
from symsets.experiments.study.records import Record, write_records
from symsets.experiments.study.runs import RunDirectory

COMMON = {
    "scheme": "",
    "data": "synthetic waves",
    "preset": "paper",
    "epochs": 40,
    "device": "cpu",
    "torch": "2.13.0",
    "symsets": "0.1.0",
    "commit": "abc123",
    "command": "symsets run signals --seeds 3",
}

# Values over three initialisations, by training-set size; nothing: the run diverged.
SIGNALS = {
    "dss-sum": {300: (0.60, 0.62, 0.64), 3000: (0.96, 0.97, 0.98)},
    "siamese": {300: (0.40, 0.42, 0.44), 3000: (0.60, 0.65, 0.70)},
    "sridhar": {300: (0.33, 0.34, 0.35), 3000: (0.345, None, 0.355)},
}
COLORS = {
    "dss-sum": {"mae": (2.0, 2.2, 2.4), "psnr": (30.0, 30.5, 31.0)},
    "siamese-ds": {"mae": (8.0, 8.1, 8.2), "psnr": (20.0, 20.5, 21.0)},
    "aittala": {"mae": (1.5, 1.6, 1.7), "psnr": (32.0, 32.5, 33.0)},
}


def signals_records():
    return [
        Record(
            experiment="signals",
            model=model,
            metric="accuracy",
            value=math.nan if value is None else value,
            train_size=size,
            seed=seed,
            parameters=3_235_000,
            seconds=20.0 + seed,
            **COMMON,
        )
        for model, sizes in SIGNALS.items()
        for size, values in sizes.items()
        for seed, value in enumerate(values)
    ]


def colors_records():
    common = {**COMMON, "data": "embedded photographs", "command": "symsets run colors"}
    return [
        Record(
            experiment="colors",
            setting="places",
            model=model,
            metric=metric,
            value=value,
            train_size=500,
            seed=seed,
            **common,
        )
        for model, metrics in COLORS.items()
        for metric, values in metrics.items()
        for seed, value in enumerate(values)
    ]


def write_runs(folder, records):
    for r in records:
        run = folder / "runs" / f"{r.model}-{r.recipe}-{r.train_size}-seed{r.seed}"
        config = {word: getattr(r, word) for word in ("experiment", "model", "recipe", "setting")}
        config |= {"preset": r.preset, "train_size": r.train_size, "seed": r.seed, "data": r.data}
        curves = [
            {"epoch": k, "val_loss": 1.0, "val_accuracy": r.value * k / 4, "seconds": 1.5 + r.seed}
            for k in range(1, 5)
        ]
        run.mkdir(parents=True)
        RunDirectory(run).write(config, curves, {}, [])


def write_signals(folder):
    write_records(folder / "results.json", signals_records())
    write_runs(folder, signals_records())
    search = {"dss-sum": {"1e-3": 0.9, "1e-4": 0.95}, "siamese": {"1e-3": 0.6, "1e-4": None}}
    (folder / "search.json").write_text(json.dumps(search))
    return folder


def write_colors(folder):
    write_records(folder / "results.json", colors_records())
    return folder


@pytest.fixture
def signals(tmp_path):
    return write_signals(tmp_path / "signals")


@pytest.fixture
def colors(tmp_path):
    return write_colors(tmp_path / "colors")


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """Both studies with their report, to be looked at only."""
    folder = tmp_path_factory.mktemp("written")
    return report.write([write_signals(folder / "signals"), write_colors(folder / "colors")])
