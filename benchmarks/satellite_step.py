"""How long does a training step of `satellite` take, and are its gradients right?

Run ``python benchmarks/satellite_step.py --data PACK [--models dss-mean,siamese] [--setting RED]
[--device cuda] [--precision bfloat16] [--steps 20] [--profile] [--out FILE]``. Every network takes
one step as ``symsets run`` takes it (on a GPU: one CUDA graph), and its gradients are compared with
plain float64. Weights that start at zero are drawn at random for that, or most gradients would be
zero. Then steps are timed, with the making of the sets inside.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from images_step import BOUNDS, exact_gradients, gradient_error
from kept import keep
from steps import make_steps, milliseconds, run
from torch import nn

from symsets.data import LabelledSets
from symsets.experiments.study.experiment import find_experiment

SCENES = 32  # that sets are made of; more change no time


def without_zeros(network: nn.Module) -> nn.Module:
    """Draw the weights that start at zero."""
    for parameter in network.parameters():
        if not parameter.any():
            nn.init.normal_(parameter, std=0.02)
    return network


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="embedded")
    parser.add_argument("--setting", default="RED")
    parser.add_argument("--models", default="dss-mean,siamese")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="bfloat16")
    parser.add_argument("--width", type=float, default=1.0)
    parser.add_argument("--batch", type=int, help="that of the experiment if left out")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--profile", action="store_true", help="show the dearest kernels")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    experiment = find_experiment("satellite")
    on_gpu = options.device.startswith("cuda")
    batch = options.batch or experiment.make_plan("ours", 1, options.setting).batch_size
    source = experiment.open_source(options.data, 0)
    sets = experiment.make_sets(source, options.setting, "train", SCENES, options.device, 0)
    torch.manual_seed(0)
    few = torch.randint(sets.num_sets, (min(batch, 4),), device=options.device)
    fixed = LabelledSets(*sets.batch(few))
    order = torch.randint(sets.num_sets, (options.steps, 1, batch), device=options.device)
    rows = []
    for model in options.models.split(","):

        def network(model: str = model) -> nn.Module:
            torch.manual_seed(0)
            made = experiment.make_network(model, "ours", options.width, options.setting, source)
            return without_zeros(made)

        exact = exact_gradients(experiment, network(), fixed)
        error = gradient_error(
            experiment, network(), fixed, options.precision, exact, captured=on_gpu
        )
        steps = make_steps(
            [network()], sets, experiment.task.loss, options.precision, captured=on_gpu
        )
        took = milliseconds([steps], order, 3)[0]
        parameters = sum(p.numel() for p in network().parameters())
        rows.append({"model": model, "precision": options.precision, "parameters": parameters})
        rows[-1] |= {"milliseconds": took, "gradient_error": error}
        rows[-1] |= {"bound": BOUNDS[options.precision]}
        print(rows[-1], flush=True)
        keep(options.out, device=options.device, batch=batch, data=source.name, rows=rows)
        if options.profile:
            with torch.profiler.profile() as profile:
                run(steps, order[:5], 0.0)
            key = "self_cuda_time_total" if on_gpu else "self_cpu_time_total"
            print(profile.key_averages().table(sort_by=key, row_limit=25, max_name_column_width=90))


if __name__ == "__main__":
    main()
