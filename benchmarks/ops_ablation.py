"""What does each fast form of ``symsets.ops`` save of a whole training step?

Run ``python benchmarks/ops_ablation.py --device cuda [--out FILE]``. Each row is a captured
training step of a network of the paper, with all fast forms and with each of them switched off
(``ops.plain(name)``), as a ratio of one run. A fast form stays if taking it out costs 5 % or more
of a step for which it was made; ``src/symsets/ops/README.md`` has the table.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import torch
from kept import keep
from shared_graph import grid
from steps import make_steps, milliseconds
from torch import nn
from torch.nn.functional import cross_entropy, l1_loss

from symsets import ops, select_loss
from symsets.data import LabelledSets
from symsets.experiments.shapes.network import ShapeNetwork
from symsets.experiments.signals.network import SignalNetwork
from symsets.experiments.signals.sets import Signals
from symsets.models import MergeNetwork, SelectionNetwork, UNet, with_reference
from symsets.ops._dispatch import OPERATIONS
from symsets.train.metrics import Loss

Case = tuple[str, nn.Module, LabelledSets, Loss, str]


def images(*shape: int, merge: bool = False) -> LabelledSets:
    x = torch.rand(shape, device="cuda")
    return LabelledSets(x, x.mean(1) if merge else x.flip(1))


def choices(x: torch.Tensor) -> LabelledSets:
    return LabelledSets(x, torch.randint(x.shape[1], (len(x),), device="cuda"))


def cases() -> Iterator[Case]:
    """Give the name, network, sets, loss and precision of every step."""
    sets = Signals().make("train", 256, "cuda")
    yield "signals, DSS(sum)", SignalNetwork("dss-sum"), sets, cross_entropy, "bfloat16"
    last = {"memory_format": torch.channels_last}
    net = UNet("dss-sum").to(**last)
    yield "colors, DSS(sum)", net, images(32, 6, 3, 64, 64), l1_loss, "float16"
    net = UNet("dss-max", size=128, task="merge", num_elements=5).to(**last)
    yield "bursts, DSS(max)", net, images(32, 5, 3, 128, 128, merge=True), l1_loss, "float16"
    frames = choices(torch.rand(16, 8, 3, 64, 64, device="cuda"))
    net = SelectionNetwork("dss-max").to(**last)
    yield "frames, DSS(max)", net, frames, select_loss, "float16"
    x = with_reference(torch.rand(32, 5, 3, 96, 96, device="cuda"))
    bursts = LabelledSets(x, x[:, 0, :3])
    yield "merge, DSS(mean)", MergeNetwork().to(**last), bursts, l1_loss, "bfloat16"
    shapes = choices(torch.rand(8, 7, 3, 83 * 83, device="cuda"))
    for model in ("dss-sum", "dss-max"):
        graphs = ShapeNetwork(model, kind="graphs")
        graphs.graph = grid(83)
        yield f"graphs, {model}", graphs, shapes, select_loss, "bfloat16"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="", help="cases whose name starts so")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name, net, sets, loss, precision in cases():
        if not name.startswith(options.only):
            continue
        batch = 64 if name.startswith("signals") else sets.num_sets
        order = torch.randint(sets.num_sets, (20, 1, batch), device="cuda")
        took = {}
        for off in ("", *OPERATIONS, "all"):
            torch.manual_seed(0)
            with ExitStack() as stack:
                if off:
                    stack.enter_context(ops.plain(*([] if off == "all" else [off])))
                steps = make_steps([net], sets, loss, precision, captured=True)
                took[off] = milliseconds([steps], order, 3)[0]
            del steps
        ratios = {off: round(ms / took[""], 3) for off, ms in took.items() if off}
        rows.append({"step": name, "precision": precision, "milliseconds": took[""], **ratios})
        shown = "  ".join(f"{off} {ratio:.2f}" for off, ratio in ratios.items())
        print(f"{name:18} {precision:9} {took['']:7.3f} ms   without: {shown}", flush=True)
        keep(options.out, device="cuda", rows=rows)


if __name__ == "__main__":
    main()
