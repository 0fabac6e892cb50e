"""The first test sets of a study, and what networks make of them: what a report shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from symsets.data.labelled import SetDataset
from symsets.experiments.study.runs import write_arrays
from symsets.train.evaluation import Network, outputs_of

__all__ = ["keep_inputs", "keep_outputs"]

NUM_EXAMPLES = 4  # test sets


def keep_inputs(path: Path, test: SetDataset, more: Mapping[str, Tensor]) -> None:
    """Write the first sets with their targets, and what else is needed to see them."""
    x, y = test.part(0, NUM_EXAMPLES)
    targets = y._asdict() if hasattr(y, "_asdict") else {"target": y}
    arrays = {"x": x, **targets, **more}
    write_arrays(path, {name: _half(array) for name, array in arrays.items()})


@torch.no_grad()
def keep_outputs(path: Path, test: SetDataset, network: Network) -> None:
    """Write what a network makes of these sets."""
    x, _ = test.part(0, NUM_EXAMPLES)
    write_arrays(path, {"output": _half(outputs_of(network)(x)[0])})


def _half(x: Tensor) -> Tensor:
    return x.half() if x.is_floating_point() else x
