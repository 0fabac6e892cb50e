"""How long does a training step on sets of images take, and are its gradients right?

Run ``python benchmarks/images_step.py [--experiment colors] [--model dss-sum] [--device cuda]
[--data PACK] [--precisions tf32,float16] [--out FILE]``. *Reference style* is the published recipe
with both branches of DSS applied to every element, one launch after the other; *ours* is the recipe
``ours`` as ``symsets run`` trains it (on a GPU: channels last, one CUDA graph per step), once on a
fixed batch and once with the making of the sets inside the step. Every step of ours is compared, in
gradient, with plain float64 before it is timed; with a smooth activation and without dropout, since
a number that rounds to the other side of a kink changes a gradient by a finite amount.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from kept import keep
from steps import make_steps, milliseconds, run
from torch import Tensor, nn

from symsets import DSS
from symsets.data import LabelledSets
from symsets.experiments.shapes.maps import MaxOverPoints
from symsets.experiments.study.experiment import Experiment, find_experiment
from symsets.nn import ConcatPool, Merge

BOUNDS = {"float32": 1e-4, "tf32": 3e-2, "bfloat16": 1e-1, "float16": 1e-1}


def smooth(network: nn.Module, *, maxima: bool = False) -> nn.Module:
    """Replace activations and maxima by smooth ones, dropout and clamping by nothing.

    With ``maxima`` those over sets stay.
    """
    for module in list(network.modules()):
        if isinstance(module, ConcatPool | DSS | Merge) and module.pool == "max" and not maxima:
            module.pool = "mean"
        for name, child in module.named_children():
            if isinstance(child, nn.ReLU):
                setattr(module, name, nn.ELU())  # its slope has no jump
            elif isinstance(child, nn.MaxPool2d):
                setattr(module, name, nn.AvgPool2d(child.kernel_size, child.stride))
            elif isinstance(child, MaxOverPoints):
                setattr(module, name, nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.Flatten()))
            elif isinstance(child, nn.Dropout | nn.Dropout2d | nn.Hardtanh):
                setattr(module, name, nn.Identity())
    return network


def exact_gradients(
    experiment: Experiment, smoothed: nn.Module, fixed: LabelledSets
) -> dict[str, Tensor]:
    """The gradients of a smooth network on one batch, in plain float64."""
    exact = smoothed.to(fixed.device, torch.float64).train()
    double = fixed.to(fixed.device, torch.float64)
    y = double.y.double() if double.y.is_floating_point() else double.y
    experiment.task.loss(exact(double.x), y).backward()
    return {name: p.grad for name, p in exact.named_parameters() if p.grad is not None}


def gradient_error(
    experiment: Experiment,
    smoothed: nn.Module,
    fixed: LabelledSets,
    precision: str,
    gradients: dict[str, Tensor],
    *,
    captured: bool,
) -> float:
    """The largest relative error of a gradient after one step at learning rate 0."""
    steps = make_steps([smoothed], fixed, experiment.task.loss, precision, captured=captured)
    order = torch.arange(fixed.num_sets).expand(4, 1, -1)  # the fourth step is captured
    run(steps, order.to(fixed.device), 0.0)
    scale = max(g.norm().item() for g in gradients.values())
    worst = 0.0
    for name, p in steps.ensemble.stacked.named_parameters():
        assert p.grad is not None
        g = gradients[name]
        error = (p.grad.squeeze(0).double() - g).norm() / max(g.norm().item(), 1e-2 * scale)
        worst = max(worst, error.item())
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiment", default="colors")
    parser.add_argument("--setting", default="")
    parser.add_argument("--model", default="dss-sum")
    parser.add_argument("--data", help="that of the experiment if left out")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precisions", help="separated by commas; all of a device if left out")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--profile", action="store_true", help="show the dearest kernels")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    experiment: Experiment = find_experiment(options.experiment)
    on_gpu = options.device.startswith("cuda")
    batch = experiment.make_plan("ours", 1, options.setting).batch_size if on_gpu else 4
    torch.manual_seed(0)
    source = experiment.open_source(options.data or experiment.default_data, 0)
    sets = experiment.make_sets(source, options.setting, "train", 512, options.device, 0)
    x, y = sets.batch(torch.arange(batch, device=options.device))
    fixed = LabelledSets(x, y)
    rows = []
    precisions = tuple(BOUNDS) if on_gpu else ("float32",)
    if options.precisions:
        precisions = tuple(options.precisions.split(","))

    def note(style: str, precision: str, took: float, error: float | None) -> None:
        rows.append(
            {
                "style": style,
                "precision": precision,
                "milliseconds": round(took, 3),
                "gradient_error": error,
                "bound": BOUNDS[precision],
            }
        )
        said = "" if error is None else f"gradient error {error:.1e} (bound {BOUNDS[precision]:g})"
        print(f"{style:32} {precision:9} {took:9.2f} ms   {said}", flush=True)
        keep(options.out, device=options.device, batch=batch, data=source.name, rows=rows)

    rounds = 5 if on_gpu else 4
    here = torch.arange(batch, device=options.device).expand(options.steps, 1, batch)
    anywhere = torch.randint(512, (options.steps, 1, batch), device=options.device)
    for precision in (p for p in precisions if p in ("float32", "tf32")):
        network = experiment.make_network(options.model, "published", 1.0, options.setting, source)
        network.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        for module in network.modules():
            if isinstance(module, DSS):
                module.pool_last = True
        steps = make_steps([network], fixed, experiment.task.loss, precision, captured=False)
        note("reference style", precision, milliseconds([steps], here[:5], 2)[0], None)

    def ours() -> nn.Module:
        torch.manual_seed(0)
        return experiment.make_network(options.model, "ours", 1.0, options.setting, source)

    exact = exact_gradients(experiment, smooth(ours()), fixed)
    for precision in precisions:
        smoothed = smooth(ours())
        error = gradient_error(experiment, smoothed, fixed, precision, exact, captured=on_gpu)
        for style, data, order in (
            ("ours, one batch", fixed, here),
            ("ours, sets made in the step", sets, anywhere),
        ):
            steps = make_steps([ours()], data, experiment.task.loss, precision, captured=on_gpu)
            note(style, precision, milliseconds([steps], order, rounds)[0], error)
    if options.profile:
        with torch.profiler.profile() as profile:
            run(steps, order if on_gpu else order[:1], 0.0)
        key = "self_cuda_time_total" if on_gpu else "self_cpu_time_total"
        print(profile.key_averages().table(sort_by=key, row_limit=25, max_name_column_width=90))


if __name__ == "__main__":
    main()
