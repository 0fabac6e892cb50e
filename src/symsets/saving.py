"""Save a network as its description and its weights, and get it back."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from symsets._checks import as_path
from symsets._files import atomic_write, digest, read_bytes, reading, shorten, write_json

DESCRIPTION, WEIGHTS = "network.json", "model.safetensors"
PRETRAINED = Path(__file__).parent / "pretrained"  # a folder for each network of the package
BLOCK = 64  # weights that share a scale in a file of 8-bit weights


def save(
    directory: Path, name: str, arguments: Mapping[str, Any], state: Mapping[str, Tensor]
) -> None:
    """Write what :func:`load` needs: the network's registered name, arguments and weights."""
    from safetensors import torch as safetensors

    tensors = {key: value.cpu().contiguous() for key, value in state.items()}
    _, seal = _seal(safetensors.save(tensors))
    weights = safetensors.save(tensors, metadata={"sha256": seal})
    with atomic_write(directory / WEIGHTS) as part:
        part.write_bytes(weights)  # save_file would not raise OSError if the disk is full
    write_json(directory / DESCRIPTION, {"network": name, "arguments": dict(arguments)})


def load(path: str | Path) -> nn.Module:
    """Return a trained network, in evaluation mode.

    Nothing is executed from the files: the network is made by its registered name from plain
    arguments, and the weights are read as tensors. The network computes in float32, however its
    weights are stored.

    Args:
        path: A folder with ``network.json`` and ``model.safetensors``, such as that of a run, or
            the name of a network that comes with the package (:func:`pretrained` lists them).
    """
    from safetensors import SafetensorError
    from safetensors.torch import load as load_bytes

    from symsets.models import build

    directory = as_path("path", path)
    if not directory.is_dir() and str(path) in pretrained():
        directory = PRETRAINED / path
    weights = find_weights(directory)
    description = directory / DESCRIPTION
    if weights is None or not description.is_file():
        missing = WEIGHTS if description.is_file() else DESCRIPTION
        raise FileNotFoundError(
            f"path must be a run's directory, but {directory} has no {missing}; or one of the "
            f"names {pretrained()}"
        )
    with reading(description, "the description of a network") as described:
        network = build(described["network"], described["arguments"])
    try:
        content = read_bytes(weights)
        written, found = _seal(content)
        if written not in (None, found):
            raise ValueError("it was changed after it was written, as its SHA-256 shows")
        network.load_state_dict(_renamed(_unpack(load_bytes(content)), network))
    except (SafetensorError, RuntimeError, ValueError, TypeError, AttributeError) as error:
        cause = shorten(str(error))
        raise ValueError(f"{weights} does not hold a readable network: {cause}") from error
    return network.eval()


def _seal(weights: bytes) -> tuple[str | None, str]:
    """Return the SHA-256 that a safetensors file names, if it does, and that of its content."""
    end = 8 + int.from_bytes(weights[:8], "little")
    header = json.loads(weights[8:end])
    written = header.pop("__metadata__", {}).get("sha256")
    return written, digest(json.dumps(header, sort_keys=True).encode() + weights[end:])


def pretrained() -> list[str]:
    """Return the names of the trained networks that come with the package.

    Example:
        >>> pretrained()
        ['colors-dss-sum', 'colors-siamese-ds']
    """
    return sorted(path.parent.name for path in PRETRAINED.glob(f"*/{WEIGHTS}"))


def find_weights(directory: Path) -> Path | None:
    """Return the file with the weights of a run, or None if there is none.

    It is in the run's own folder, or in the package if ``network.json`` has an entry
    ``"pretrained"`` with the name of a network there.
    """
    if (directory / WEIGHTS).is_file():
        return directory / WEIGHTS
    with suppress(ValueError), reading(directory / DESCRIPTION, "a network") as described:
        name = described["pretrained"]
        return PRETRAINED / name / WEIGHTS if name in pretrained() else None
    return None


def shrink(state: Mapping[str, Tensor], at_least: int = 40_000) -> dict[str, Tensor]:
    """Return weights that take about a quarter of the space of float32; :func:`load` reads them.

    Tensors of ``at_least`` weights become 8-bit integers. Every 64 consecutive weights share a
    scale, so a weight changes by about 1/254 of the largest of them at most. Others become float16.

    Example:
        >>> weight = torch.randn(200, 320)
        >>> stored = shrink({"weight": weight})
        >>> {name: (value.dtype, tuple(value.shape)) for name, value in stored.items()}
        {'weight': (torch.int8, (200, 320)), 'weight.scale': (torch.float16, (1000,))}
    """
    stored: dict[str, Tensor] = {}
    for name, value in state.items():
        if not value.is_floating_point():
            stored[name] = value
        elif value.numel() < at_least or value.numel() % BLOCK:
            stored[name] = value.half()
        else:
            blocks = value.float().reshape(-1, BLOCK)
            scale = (blocks.abs().amax(1) / 127).half()
            unit = torch.where(scale == 0, 1, scale.float())[:, None]
            rounded = (blocks / unit).round().clamp(-127, 127)
            stored[name] = rounded.to(torch.int8).view(value.shape)
            stored[f"{name}.scale"] = scale
    return stored


def _unpack(stored: dict[str, Tensor]) -> dict[str, Tensor]:
    """Undo :func:`shrink`."""
    for name in [name for name in stored if f"{name}.scale" in stored]:
        scale = stored.pop(f"{name}.scale").float()[:, None]
        stored[name] = (stored[name].reshape(-1, BLOCK) * scale).view(stored[name].shape)
    return stored


def _renamed(stored: dict[str, Tensor], network: nn.Module) -> dict[str, Tensor]:
    """Return weights of an earlier version under the names of ``network``.

    Layers have been put into blocks since, which changed numbers in names but not their order.
    Keys of attention had a bias, which changed nothing.
    """

    def by_number(name: str) -> list[tuple[bool, int, str]]:
        parts = name.split(".")
        return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]

    def is_of_key(name: str) -> bool:
        return ".key." in f".{name}" and name.endswith(".bias")

    ours = network.state_dict()
    if not any(map(is_of_key, ours)):
        stored = {name: value for name, value in stored.items() if not is_of_key(name)}
    if stored.keys() == ours.keys():
        return stored
    old, new = (sorted(names, key=by_number) for names in (stored, ours))
    same = [(a.rpartition(".")[2], stored[a].shape) for a in old] == [
        (b.rpartition(".")[2], ours[b].shape) for b in new
    ]
    return {b: stored[a] for a, b in zip(old, new, strict=True)} if same else stored
