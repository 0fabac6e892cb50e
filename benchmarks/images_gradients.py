"""Are the gradients of a training step right, for every network of an experiment?

Run ``python benchmarks/images_gradients.py --experiment colors --models aittala,dss-max,sridhar
[--precisions bfloat16] [--data PACK] [--device cuda] [--out FILE]``. Each network of the recipe
``ours`` takes one step as ``symsets run`` takes it (on a GPU: our kernels, channels last, one CUDA
graph), and its gradients are compared with plain float64: in half precision with kinks made
smooth (see ``images_step.py``), in float32 once more with maxima over sets as they are.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from images_step import BOUNDS, exact_gradients, gradient_error, smooth
from kept import keep

from symsets.data import LabelledSets
from symsets.experiments.study.experiment import Experiment, find_experiment


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiment", default="colors")
    parser.add_argument("--setting", default="")
    parser.add_argument("--models", default="aittala,dss-max,sridhar")
    parser.add_argument("--precisions", default="float16")
    parser.add_argument("--data", help="that of the experiment if left out")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    experiment: Experiment = find_experiment(options.experiment)
    on_gpu = options.device.startswith("cuda")
    batch = experiment.make_plan("ours", 1, options.setting).batch_size if on_gpu else 4
    torch.manual_seed(0)
    source = experiment.open_source(options.data or experiment.default_data, 0)
    sets = experiment.make_sets(source, options.setting, "train", batch, options.device, 0)
    fixed = LabelledSets(*sets.batch(torch.arange(batch, device=options.device)))
    rows = []
    for model in options.models.split(","):
        for maxima in (False, True):
            torch.manual_seed(0)
            network = experiment.make_network(model, "ours", 1.0, options.setting, source)
            start = {name: value.clone() for name, value in network.state_dict().items()}
            exact = exact_gradients(experiment, smooth(network, maxima=maxima), fixed)
            for precision in ["float32"] if maxima else options.precisions.split(","):
                network.to(torch.float32).load_state_dict(start)
                error = gradient_error(
                    experiment, network, fixed, precision, exact, captured=on_gpu
                )
                rows.append({"model": model, "precision": precision, "maxima": maxima})
                rows[-1] |= {"gradient_error": error, "bound": BOUNDS[precision]}
                print(rows[-1], flush=True)
                keep(options.out, device=options.device, batch=batch, data=source.name, rows=rows)


if __name__ == "__main__":
    main()
