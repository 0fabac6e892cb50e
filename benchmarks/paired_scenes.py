"""How far networks are apart on the same test sets, and how sure that is.

Run ``python benchmarks/paired_scenes.py [STUDY] [--models dss-mean siamese] [--out FILE.json]``.
Prints the mean over test sets of the difference between each model and the last one, its standard
error, and on how many sets it is ahead, for every metric that the predictions of both have. Runs of
one seed are compared, and their differences averaged for each set. The error is that of the choice
of test sets; with one seed it says nothing of what another initialisation would give.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from kept import keep

ROOT = Path(__file__).parent.parent


def values(study: Path, model: str) -> dict[tuple[str, int], dict[str, np.ndarray]]:
    """Return every metric of every test set, by setting and seed."""
    found = {}
    for path in sorted(study.glob("runs/*/predictions.npz")):
        config = json.loads((path.parent / "done.json").read_text(encoding="utf-8"))["config"]
        if config["model"] == model:
            with np.load(path) as file:
                found[config["setting"], config["seed"]] = {k: file[k].astype(float) for k in file}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", type=Path, nargs="?", default=ROOT / "results" / "satellite")
    parser.add_argument("--models", nargs="+", default=("dss-mean", "siamese"))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    *models, rival = options.models
    other = values(options.study, rival)
    rows = []
    for model in models:
        one = values(options.study, model)
        for setting in sorted({setting for setting, _ in one.keys() & other.keys()}):
            seeds = sorted(seed for word, seed in one.keys() & other.keys() if word == setting)
            both = other[setting, seeds[0]]
            for metric in (name for name in one[setting, seeds[0]] if name in both):
                pairs = [(one[setting, s][metric], other[setting, s][metric]) for s in seeds]
                apart = np.mean([a - b for a, b in pairs], axis=0)
                row = {
                    "model": model,
                    "setting": setting,
                    "metric": metric,
                    "difference": apart.mean(),
                    "error": apart.std(ddof=1) / np.sqrt(len(apart)),
                    "ahead": int((apart > 0).sum()),
                    "sets": len(apart),
                    "seeds": len(seeds),
                }
                rows.append(row)
                print("{model}, {setting} {metric}: {difference:.4f}".format(**row), end=" ± ")
                print("{error:.4f} over {sets} sets, ahead on {ahead}; {seeds} seeds".format(**row))
    keep(options.out, models=f"{', '.join(models)} - {rival}", rows=rows)


if __name__ == "__main__":
    main()
