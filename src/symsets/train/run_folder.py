"""The folder of a training: its history, and the network that came out."""

import os
import warnings
from collections.abc import Sequence
from pathlib import Path

from torch import nn

from symsets._checks import as_path
from symsets._files import write_csv
from symsets.describing import describe
from symsets.saving import save, write_weights

CHECKPOINT, HISTORY = "last.ckpt", "history.csv"


def run_folder(out: str | os.PathLike[str], net: nn.Module) -> Path:
    """Return the folder of a training; warn if the network can be kept by its weights only."""
    folder = as_path("out", out)
    try:
        describe(net)
    except (ValueError, TypeError) as error:
        warnings.warn(f"only weights will be saved in {folder}: {error}", stacklevel=3)
    return folder


def save_network(net: nn.Module, folder: Path) -> None:
    """Save a network, or its weights if it cannot be described."""
    try:
        save(net, folder)
    except (ValueError, TypeError):  # of which a warning told
        folder.mkdir(exist_ok=True)
        write_weights(folder, net.state_dict())


def write_history(path: Path, curves: Sequence[Sequence[dict[str, float]]], seed: int) -> None:
    """Write a row for each epoch and seed."""
    rows = [
        {"seed": seed + k, **row} if len(curves) > 1 else row
        for k, own in enumerate(curves)
        for row in own
    ]
    write_csv(path, rows)
