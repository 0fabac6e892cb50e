"""How far two networks are apart on the same test sets, and how sure that is.

Run ``python benchmarks/paired_scenes.py [STUDY] [--models dss-mean siamese] [--metric cpsnr]``.
Prints the mean over test sets of the difference of two models, its standard error, and on how many
sets the first is ahead, from the predictions of a study. Runs of the same seed are compared, and
their differences averaged for each set. The error is that of the choice of test sets; with one seed
it says nothing of what another initialisation would give.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent


def values(study: Path, model: str, metric: str) -> dict[tuple[str, int], np.ndarray]:
    """Return the metric of every test set, by setting and seed."""
    found = {}
    for path in sorted(study.glob("runs/*/predictions.npz")):
        config = json.loads((path.parent / "config.json").read_text(encoding="utf-8"))
        if config["model"] == model:
            with np.load(path) as file:
                found[config["setting"], config["seed"]] = file[metric].astype(np.float64)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", type=Path, nargs="?", default=ROOT / "results" / "satellite")
    parser.add_argument("--models", nargs=2, default=("dss-mean", "siamese"))
    parser.add_argument("--metric", default="cpsnr")
    options = parser.parse_args()
    one, other = (values(options.study, model, options.metric) for model in options.models)
    for setting in sorted({setting for setting, _ in one.keys() & other.keys()}):
        seeds = sorted(seed for word, seed in one.keys() & other.keys() if word == setting)
        apart = np.mean([one[setting, s] - other[setting, s] for s in seeds], axis=0)
        error = apart.std(ddof=1) / np.sqrt(len(apart))
        print(
            f"{setting} {options.metric}, {' - '.join(options.models)}: {apart.mean():.4f} ± "
            f"{error:.4f} over {len(apart)} sets, ahead on {(apart > 0).sum()}; seeds {seeds}"
        )


if __name__ == "__main__":
    main()
