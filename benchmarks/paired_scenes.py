"""How far networks are apart on the same test sets, and how sure that is.

Run ``python benchmarks/paired_scenes.py [STUDY] [--models dss-mean siamese] [--train-size 200]
[--out FILE.json]``. ``dss-mean-raw`` is ``dss-mean`` in the settings without registration. Prints
the mean over test sets of the difference between each model and the last one, its standard error,
and on how many sets it is ahead, for every metric that the predictions of both have. Runs of one
seed are compared, and their differences averaged for each set. The error is that of the choice of
test sets; with one seed it says nothing of what another initialisation would give.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from kept import keep

ROOT = Path(__file__).parent.parent


RAW = "-raw"


def values(
    study: Path, model: str, size: int | None = None
) -> dict[tuple[str, int], dict[str, np.ndarray]]:
    """Return every metric of every test set, by band and seed; of the most training sets."""
    runs = {}
    for path in study.glob("runs/*/predictions.npz"):
        config = json.loads((path.parent / "done.json").read_text(encoding="utf-8"))["config"]
        setting, train_size = config["setting"], config["train_size"]
        name = config["model"] + (RAW if setting.endswith(RAW) else "")
        if name == model and size in (None, train_size):
            runs[setting.removesuffix(RAW), config["seed"], train_size] = path
    found = {}
    for (band, seed, _), path in sorted(runs.items()):  # the most training sets last
        with np.load(path) as file:
            found[band, seed] = {k: file[k].astype(float) for k in file}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", type=Path, nargs="?", default=ROOT / "results" / "satellite")
    parser.add_argument("--models", nargs="+", default=("dss-mean", "siamese"))
    parser.add_argument("--train-size", type=int, help="the largest if left out")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    *models, rival = options.models
    other = values(options.study, rival, options.train_size)
    rows = []
    for model in models:
        one = values(options.study, model, options.train_size)
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
