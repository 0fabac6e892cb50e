"""Which changes of the training of `satellite` help on scenes it has not seen?

Run ``python benchmarks/satellite_variants.py --data PACKS [--setting RED] [--models dss-mean]
[--device cuda] [--precision bfloat16] [--epochs 560] [--held-out 75] [--out FILE]``, and one or
several of ``--fewest 8``, ``--gain 0.1``, ``--contrast 0.05``, ``--noise 0.0005``, ``--drop 0.1``,
``--weight-decay 0.05``, ``--average 0.999``, ``--rate 5e-4``. Scenes are those of the training part
alone, so that nothing is chosen by the test: the last ``--held-out`` of them are measured, the
others are trained on. Prints the best and the last validation, and the epoch of the best.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import torch
from kept import keep

from symsets.experiments.satellite.augmentation import Augmentation
from symsets.experiments.satellite.experiment import SatelliteExperiment
from symsets.experiments.satellite.sets import SceneSets
from symsets.train.fitting import fit_together


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="embedded")
    parser.add_argument("--setting", default="RED")
    parser.add_argument("--models", default="dss-mean")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="bfloat16")
    parser.add_argument("--width", type=float, default=1.0)
    parser.add_argument("--epochs", type=int, default=560)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scenes", type=int, help="of the training part; all if left out")
    parser.add_argument("--held-out", type=int, default=75)
    parser.add_argument("--fewest", type=int, default=0)
    for name in ("gain", "contrast", "noise", "drop"):
        parser.add_argument(f"--{name}", type=float, default=0.0)
    for name in ("weight-decay", "average", "rate"):
        parser.add_argument(f"--{name}", type=float, help="that of the experiment if left out")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    experiment = SatelliteExperiment()
    experiment.augmentation = Augmentation(
        options.fewest, options.gain, options.contrast, options.noise
    )
    experiment.drop = options.drop
    source = experiment.open_source(options.data, 0)
    known = options.data != "embedded"
    most = options.scenes or (len(source.names(options.setting, "train")[1]) if known else 64)
    scenes = source.scenes(options.setting, "train", most)
    parts = scenes[: -options.held_out], scenes[-options.held_out :]
    crop = min(48, 3 * scenes[0].low.shape[-1] // 4)
    train, val = (
        SceneSets(part, crop=crop, device=options.device, augmentation=experiment.augmentation)
        for part in parts
    )
    plan = experiment.make_plan("ours", options.epochs, options.setting)
    changes = {"weight_decay": options.weight_decay, "average": options.average}
    changes["learning_rate"] = options.rate or experiment.learning_rate("ours")
    changes = {name: value for name, value in changes.items() if value is not None}
    plan = replace(plan, precision=options.precision, **changes)
    rows = []
    for model in options.models.split(","):
        torch.manual_seed(options.seed)
        network = experiment.make_network(model, "ours", options.width, options.setting, source)
        [found] = fit_together(
            [network], [options.seed], plan, train, val, experiment.task, device=options.device
        )
        values = [(row["val_cpsnr"], row["epoch"], row["train_loss"]) for row in found.curves]
        best, epoch, _ = max(values)
        rows.append({"model": model, "best": best, "epoch": epoch, "last": values[-1][0]})
        rows[-1] |= {"train_loss": values[-1][2], "seconds": found.seconds}
        print(rows[-1], flush=True)
        keep(options.out, device=options.device, data=source.name, rows=rows, curves=values)


if __name__ == "__main__":
    main()
