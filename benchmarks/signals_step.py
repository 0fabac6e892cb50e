"""How long does a training step of the signals networks take, and are its gradients right?

Run ``python benchmarks/signals_step.py [--device cuda] [--out FILE]``: batch 64, sets of 25
signals of length 100. *Reference style* maps every element by both branches, as the released code
does, with direct convolutions and one launch after the other; *ours* is the recipe ``ours`` as
``symsets run signals`` trains it (on a GPU, one CUDA graph per step). Every fast step is compared,
in gradient, with plain float64 before it is timed; with a smooth activation, since a number that
rounds to the other side of a ReLU's kink changes a gradient by a finite amount.
"""

from __future__ import annotations

import argparse
import copy
import warnings
from pathlib import Path

import torch
from kept import keep
from steps import make_steps, milliseconds, run
from torch import nn
from torch.nn.functional import cross_entropy

from symsets.data import LabelledSets
from symsets.experiments.signals.network import SignalNetwork
from symsets.experiments.signals.sets import Signals
from symsets.nn import CircularConv1d
from symsets.train.ensemble import Ensemble
from symsets.train.step import EagerSteps

BOUNDS = {"float32": 1e-4, "tf32": 3e-2, "bfloat16": 1e-1}
BATCH = 64


def network(model: str, recipe: str, *, direct: bool = False) -> SignalNetwork:
    net = SignalNetwork(model, recipe=recipe)
    for module in net.modules():
        if direct and isinstance(module, CircularConv1d):
            module.method = "direct"
    return net


def smooth(net: SignalNetwork) -> SignalNetwork:
    """Replace the activations by smooth ones."""
    for module in list(net.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.ReLU):
                setattr(module, name, nn.ELU())  # its slope has no jump
    return net


def gradient_error(steps: EagerSteps, order: torch.Tensor) -> float:
    """The largest relative error of a gradient at learning rate 0; the fourth step is captured."""
    ensemble = steps.ensemble
    members = [ensemble.member_state(k) for k in range(ensemble.size)]  # before statistics move
    run(steps, order[:1].expand(4, -1, -1), 0.0)
    double = LabelledSets(steps.data.x.double(), steps.data.y)
    worst = 0.0
    for k, state in enumerate(members):
        net = smooth(SignalNetwork(**network_arguments(ensemble)))
        net.to(double.y.device, torch.float64)
        net.load_state_dict(state)
        which = order[0, k]
        cross_entropy(net(double.x[which]), double.y[which]).backward()
        exact = dict(net.named_parameters())
        scale = max(p.grad.norm().item() for p in exact.values() if p.grad is not None)
        for name, p in ensemble.stacked.named_parameters():
            assert p.grad is not None
            g = exact[name].grad
            assert g is not None
            error = (p.grad[k].double() - g).norm() / max(g.norm().item(), 1e-2 * scale)
            worst = max(worst, error.item())
    return worst


def network_arguments(ensemble: Ensemble) -> dict[str, object]:
    arguments: dict[str, object] = ensemble.stacked.arguments  # type: ignore[assignment]
    return arguments


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # length 25 is odd; see SignalNetwork
    on_gpu = options.device.startswith("cuda")
    torch.manual_seed(0)
    data = Signals().make("train", 2000, options.device)
    cases: list[tuple[str, str, str, str, int]] = [
        ("reference style", "dss-sum", "published", "float32", 1),
        ("ours", "dss-sum", "ours", "float32", 1),
        ("ours", "siamese", "ours", "float32", 1),
    ]
    if on_gpu:
        cases += [("reference style", "dss-sum", "published", "tf32", 1)]
        for precision in ("tf32", "bfloat16"):
            cases += [("ours", m, "ours", precision, 1) for m in ("dss-sum", "siamese")]
        cases += [("ours", "dss-sum", "ours", p, 5) for p in BOUNDS]
    rows = []
    for style, model, recipe, precision, seeds in cases:
        reference = style != "ours"
        captured = on_gpu and not reference
        nets = [network(model, recipe, direct=reference) for _ in range(seeds)]
        smoothed = [smooth(copy.deepcopy(net)) for net in nets]
        check = make_steps(smoothed, data, cross_entropy, precision, captured=captured)
        order = torch.randint(2000, (40 if on_gpu else 3, seeds, BATCH)).to(options.device)
        error = None if reference else gradient_error(check, order)
        steps = make_steps(nets, data, cross_entropy, precision, captured=captured)
        took = milliseconds([steps], order, 5 if on_gpu else 3)[0]
        rows.append(
            {
                "style": style,
                "model": model,
                "precision": precision,
                "seeds": seeds,
                "milliseconds": round(took, 3),
                "gradient_error": error,
                "bound": BOUNDS[precision],
            }
        )
        checked = (
            "" if error is None else f"gradient error {error:.1e} (bound {BOUNDS[precision]:g})"
        )
        print(
            f"{style:16} {model:8} {precision:9} {seeds} seed(s) {took:9.2f} ms   {checked}",
            flush=True,
        )
    keep(options.out, device=options.device, rows=rows)


if __name__ == "__main__":
    main()
