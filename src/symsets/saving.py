"""Save a network as its description and its weights, and get it back."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from symsets._checks import as_path, check_choice, check_kind
from symsets._files import (
    atomic_write,
    check_place,
    digest,
    named_errors,
    read_bytes,
    reading,
    write_json,
)
from symsets.describing import describe
from symsets.making import Allowed, check_allowed, make
from symsets.models.card import Card

DESCRIPTION, WEIGHTS = "network.json", "model.safetensors"
PRETRAINED = Path(__file__).parent / "pretrained"  # a folder for each network of the package
BLOCK = 64  # weights that share a scale in a file of 8-bit weights


def save(net: nn.Module, path: str | os.PathLike[str]) -> None:
    """Save a network in a folder: ``network.json`` describes it, safetensors hold its weights.

    Any network made of layers of torch and of this package can be saved, and classes of your own
    whose constructors keep their arguments as attributes of the same names, or all of them in a
    dictionary ``arguments``. What a network is for (``net.card``, see
    :class:`~symsets.models.Card`) is saved with it. Both files have checksums, and are written
    whole or not at all.

    Args:
        net: The network.
        path: A folder, made if it is not there.

    Example:
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> net = nn.Sequential(nn.Linear(3, 8), nn.ReLU()).eval()
        >>> save(net, folder)
        >>> x = torch.randn(2, 3)
        >>> torch.equal(load(folder)(x), net(x))
        True
    """
    directory = as_path("path", path)
    check_place("path", directory)
    described = describe(net)
    if "network" not in described:
        described = {"module": described}
    values = net.state_dict().values()
    if any(value.is_complex() for value in values):
        raise ValueError("net must have real weights to be saved, got complex ones")
    kinds = {value.dtype for value in values if value.is_floating_point()}
    if kinds == {torch.float64}:
        described["dtype"] = "float64"
    if (card := getattr(net, "card", None)) is not None:
        check_kind("net.card", card, Card)
        described["card"] = card.to_dict()
    directory.mkdir(parents=True, exist_ok=True)
    write_weights(directory, net.state_dict())
    write_json(directory / DESCRIPTION, described)


def save_registered(
    directory: Path, name: str, arguments: Mapping[str, Any], state: Mapping[str, Tensor]
) -> None:
    """Write what :func:`load` needs of a network by its registered name, arguments and weights."""
    write_weights(directory, state)
    write_json(directory / DESCRIPTION, {"network": name, "arguments": dict(arguments)})


def write_weights(directory: Path, state: Mapping[str, Tensor]) -> None:
    """Write weights with their checksum."""
    from safetensors import torch as safetensors

    seen: set[int] = set()
    tensors = {}
    for key, value in state.items():
        own = value.cpu().contiguous()
        tensors[key] = own.clone() if own.data_ptr() in seen else own  # shared by two parts
        seen.add(own.data_ptr())
    _, seal = _seal(safetensors.save(tensors))
    weights = safetensors.save(tensors, metadata={"sha256": seal})
    with atomic_write(directory / WEIGHTS) as part:
        part.write_bytes(weights)  # save_file would not raise OSError if the disk is full


def load(path: str | os.PathLike[str], *, allow: Allowed = ()) -> nn.Module:
    """Return a trained network, in evaluation mode.

    Nothing is executed from the files: the network is made of classes of torch and of this
    package, from plain arguments, and the weights are read as tensors. The network computes in
    float32, however its weights are stored, unless it was saved in float64.

    Args:
        path: A folder with ``network.json`` and ``model.safetensors``, such as that of a run, or
            the name of a network that comes with the package (:func:`pretrained` lists them).
        allow: Classes of your own, or their names such as ``"mypackage.MyNet"``, that the network
            may be made of. Their modules are imported and their constructors run.
    """
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
    check_allowed(allow)
    readable = partial(named_errors, weights, "does not hold a readable network")
    with readable():
        values = _read_weights(weights)
    with reading(description, "the description of a network") as described:
        network = _make(described, values, weights.name, allow)
        card = Card.from_dict(described["card"]) if "card" in described else None
    with readable():
        network.load_state_dict(values)
    if card is not None:
        network.card = card  # type: ignore[assignment]
    return network.eval()


def _make(
    described: dict[str, Any], values: dict[str, Tensor], name: str, allow: Allowed
) -> nn.Module:
    """Make a network, if it is no larger than its weights say."""
    module = described.get("module")
    if module is None:
        module = {"network": described["network"], "arguments": described["arguments"]}
    make_it = partial(make, module, allow=allow)
    with torch.device("meta"):  # where a network takes no memory
        wanted = sum(value.numel() for value in make_it().state_dict().values())
    if wanted > (held := sum(value.numel() for value in values.values())):
        raise ValueError(f"it describes {wanted:,} numbers where {name} holds {held:,}")
    network = make_it()
    if (dtype := described.get("dtype")) is not None:
        check_choice("dtype", dtype, ("float64",))
        network.double()
    return network


def _read_weights(path: Path) -> dict[str, Tensor]:
    from safetensors.torch import load as load_bytes

    content = read_bytes(path)
    written, found = _seal(content)
    if written not in (None, found):
        raise ValueError("it was changed after it was written, as its SHA-256 shows")
    return _unpack(load_bytes(content))


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
        ['best', 'colors-dss-sum', 'colors-siamese-ds', 'merge']
    """
    return sorted(path.parent.name for path in PRETRAINED.glob(f"*/{WEIGHTS}"))


def load_pretrained(name: str) -> nn.Module:
    """Return a network of the package, also where somebody has a folder of that name."""
    if name not in pretrained():
        raise FileNotFoundError(
            f"this copy of symsets has no trained network {name!r}; python "
            f"training/{name}_network.py makes one"
        )
    return load(PRETRAINED / name)


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
