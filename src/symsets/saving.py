"""Save a network as its description and its weights, and get it back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

__all__ = ["WEIGHTS", "load", "save"]

DESCRIPTION, WEIGHTS = "network.json", "model.safetensors"


def save(
    directory: Path, name: str, arguments: Mapping[str, Any], state: Mapping[str, Tensor]
) -> None:
    """Write what :func:`load` needs: which registered network, made how, with which weights."""
    from safetensors import torch as safetensors

    from symsets.train.files import atomic_write, write_json

    weights = safetensors.save({key: value.cpu().contiguous() for key, value in state.items()})
    with atomic_write(directory / WEIGHTS) as part:
        part.write_bytes(weights)  # a full disk is an OSError, which it is not to save_file
    write_json(directory / DESCRIPTION, {"network": name, "arguments": dict(arguments)})


def load(path: str | Path) -> nn.Module:
    """Return a trained network, in evaluation mode, from the directory of its run.

    Nothing is executed from the files: the network is made by its registered name from plain
    arguments, and the weights are read as tensors.

    Args:
        path: A run's directory, with ``network.json`` and ``model.safetensors``.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    directory = Path(path)
    missing = [name for name in (DESCRIPTION, WEIGHTS) if not (directory / name).is_file()]
    if missing:
        raise FileNotFoundError(f"path must be a run's directory, but {directory} has no {missing}")
    network = _make(directory / DESCRIPTION)
    try:
        network.load_state_dict(load_file(directory / WEIGHTS))
    except (SafetensorError, RuntimeError) as error:
        raise ValueError(
            f"{directory / WEIGHTS} does not hold a readable network: {error}"
        ) from error
    return network.eval()


def _make(path: Path) -> nn.Module:
    """Make the network that a file describes, with weights that are still to be read."""
    from symsets.models import build

    try:
        described = json.loads(path.read_text(encoding="utf-8"))
        return build(described["network"], described["arguments"])
    except KeyError as error:
        raise ValueError(f"{path} does not hold a readable network: {error} is missing") from error
    except (ValueError, TypeError, RuntimeError) as error:
        raise ValueError(f"{path} does not hold a readable network: {error}") from error
