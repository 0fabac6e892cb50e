"""What does rounding in the last layers do to the gradients of a network that selects?

Run ``python benchmarks/rounded_scores.py [--experiment quality] [--setting gaussian-30]
[--data PACK] [--batch 16] [--out FILE]``. The features of DSS(sum) are computed in float16, on any
device, and the layers that end in scores once in float32 and once with factors rounded to the 11
digits of tf32, as a GPU may do it. Both gradients are compared with plain float64, as in
``images_step.py``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from images_step import exact_gradients, gradient_error
from kept import keep
from torch import Tensor, nn

from symsets.data import LabelledSets
from symsets.experiments.study.experiment import Experiment, find_experiment


def rounded(x: Tensor) -> Tensor:
    """Round float32 numbers to 11 binary digits, ties to even."""
    bits = x.contiguous().view(torch.int32)
    return ((bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFF).view(torch.float32)


class RoundedProduct(torch.autograd.Function):
    """The product of rows ``(T, I)`` with a matrix ``(O, I)``, of rounded factors both ways."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return rounded(x) @ rounded(weight).mT

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        g = rounded(grad)
        return g @ rounded(weight), g.mT @ rounded(x)


class RoundedLinear(nn.Linear):
    """A linear map as tf32 computes it."""

    def forward(self, x: Tensor) -> Tensor:
        """Map the last axis."""
        y: Tensor = RoundedProduct.apply(x.flatten(0, -2), self.weight)
        y = y.unflatten(0, x.shape[:-1])
        return y if self.bias is None else y + self.bias


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiment", default="quality")
    parser.add_argument("--setting", default="gaussian-30")
    parser.add_argument("--data", help="that of the experiment if left out")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    experiment: Experiment = find_experiment(options.experiment)
    source = experiment.open_source(options.data or experiment.default_data, 0)
    torch.manual_seed(0)
    sets = experiment.make_sets(source, options.setting, "train", options.batch, options.device, 0)
    fixed = LabelledSets(*sets.batch(torch.arange(options.batch, device=options.device)))

    def network(*, rounds: bool) -> nn.Module:
        torch.manual_seed(0)
        made = experiment.make_network("dss-sum", "ours", 1.0, options.setting, source)
        for part in made.scores.modules():
            if rounds and type(part) is nn.Linear:
                part.__class__ = RoundedLinear
        return made

    exact = exact_gradients(experiment, network(rounds=False), fixed)
    errors = {}
    for name, rounds in (("scores in float32", False), ("scores in tf32", True)):
        errors[name] = gradient_error(
            experiment, network(rounds=rounds), fixed, "float16", exact, captured=False
        )
        print(f"{name:20} gradient error {errors[name]:.1e}", flush=True)
    keep(
        options.out,
        device=options.device,
        batch=options.batch,
        data=source.name,
        gradient_errors=errors,
    )


if __name__ == "__main__":
    main()
