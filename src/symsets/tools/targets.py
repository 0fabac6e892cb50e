"""Networks to check, with an example for their input: Python files and ONNX files."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from symsets._checks import shown
from symsets._extras import require
from symsets._importing import run_file, told

EXACT, ROUNDED = 1e-9, 1e-4  # tolerances in float64, and for ONNX files, which run in float32
SIZES = (2, 6, 3, 8, 8, 8)  # of axes that an ONNX file leaves open


@dataclass(frozen=True)
class Target:
    """A network with an example for its input."""

    network: Callable[..., Any]  # one of torch is in float64
    x: Tensor  # the input that is moved
    more: tuple[Any, ...] = ()  # further inputs, which are not
    tolerance: float = EXACT  # the largest error that counts as kept


def read_target(text: str, shape: Sequence[int] | None = None) -> Target:
    """Read ``file.py:function`` or an ONNX file; ``shape`` is that of its input, if axes are open.

    The function is called without arguments, and returns a network and its input; if that is a
    tuple, its first entry is moved.
    """
    if text.lower().endswith(".onnx"):
        return _read_onnx(Path(text), shape)
    name, colon, function = text.rpartition(":")
    if not colon or not function.isidentifier():
        raise ValueError(f"TARGET must be file.py:function or file.onnx, got {text!r}")
    if shape is not None:
        raise ValueError("--shape must be left out where a function makes the input")
    path = Path(name)
    made = getattr(run_file(path, "TARGET"), function, None)
    if not callable(made):
        raise ValueError(f"{path} must define a function {function}, got {shown(made)}")
    try:
        pair = made()
    except Exception as error:
        raise ValueError(f"{path}{told(path, error)}") from error
    if not (isinstance(pair, tuple) and len(pair) == 2 and callable(pair[0])):
        raise ValueError(f"{function} must return a network and its input, got {shown(pair)}")
    network, given = pair
    x, *more = given if isinstance(given, tuple | list) else (given,)
    if not isinstance(x, Tensor) or not x.is_floating_point():
        raise ValueError(f"{function} must return an input of floats, got {shown(x)}")
    if isinstance(network, nn.Module):
        network = copy.deepcopy(network).double().eval()
    return Target(network, x.double(), tuple(map(_to_double, more)))


def read_shape(text: str) -> list[int]:
    """Read ``2,5,3``."""
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise ValueError(f"--shape must be sizes such as 2,5,3,32,32, got {text!r}")
    return sizes


def _read_onnx(path: Path, shape: Sequence[int] | None) -> Target:
    runtime = require("onnxruntime", "onnx")
    if not path.is_file():
        raise ValueError(f"TARGET must be a file, got {path}, which is none")
    try:
        session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ValueError(f"{path} must be a network in ONNX: {error}") from error
    first, *others = session.get_inputs()
    if others or first.type != "tensor(float)":
        raise ValueError(
            f"{path} must take one tensor of float32, got "
            f"{', '.join(f'{given.name} {given.type}' for given in (first, *others))}"
        )
    known = (size if isinstance(size, int) else None for size in first.shape)
    sizes = list(shape) if shape else [s or SIZES[min(k, 5)] for k, s in enumerate(known)]
    x = torch.randn(sizes, generator=torch.Generator().manual_seed(0))

    def run(x: Tensor) -> list[Tensor]:
        try:
            found = session.run(None, {first.name: x.numpy()})
        except Exception as error:
            raise ValueError(f"{path} must take {tuple(x.shape)}; try --shape: {error}") from error
        return [torch.from_numpy(out) for out in found]

    return Target(run, x, tolerance=ROUNDED)


def _to_double(value: Any) -> Any:
    return value.double() if isinstance(value, Tensor) and value.is_floating_point() else value
