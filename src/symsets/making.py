"""Make networks from descriptions, which may come from anybody.

A description names a class and the arguments of its constructor, which may be networks themselves.
Classes are looked up by name in torch, torch_geometric and this package; any other class must be
allowed by whoever makes the network. Nothing else of a description is ever executed.
"""

from __future__ import annotations

import re
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from torch import nn

from symsets._checks import shown
from symsets._extras import require
from symsets.groups import PermutationGroup, parse
from symsets.lift import lift
from symsets.models.registry import build

Allowed = Sequence[str | type]
LIBRARIES = ("torch.nn", "torch_geometric.nn")
# Of torch_geometric: one evaluates its arguments as Python, the others fetch models by name.
UNTRUSTED = tuple(
    f"torch_geometric.nn.{name}"
    for name in ("Sequential", "LLM", "SentenceTransformer", "VisionTransformer")
)
OURS = re.compile(r"symsets\.(nn|models)(\.[A-Za-z_]\w*)*")
CONTAINERS = tuple(kind.__init__ for kind in (nn.Sequential, nn.ModuleList, nn.ModuleDict))
ACTIVATIONS = ("relu", "gelu", "silu", "elu", "leaky_relu", "tanh", "sigmoid", "selu", "mish")
TIMM = ("num_classes", "in_chans")  # what is kept of the arguments of its networks
MOST_INTEGER, MOST_LAYERS, LONGEST_TEXT = 2**31, 1000, 200


def make(described: Any, *, allow: Allowed = ()) -> nn.Module:
    """Make a network from its description, with fresh weights.

    Args:
        described: What :func:`describe` returned.
        allow: Classes, or their names with the module in front, that may be imported and called
            beside those of torch and this package.
    """
    return _Maker(allow).module(described, "")


def below(path: str, name: str) -> str:
    """Return the path of a part."""
    return f"{path}.{name}" if path else name


def library_name(kind: type) -> str | None:
    """Return the name by which a class of torch or of ours is found, if it is one."""
    for library in LIBRARIES:
        name = f"{library}.{kind.__name__}"
        there = library.partition(".")[0] == kind.__module__.partition(".")[0]
        if there and getattr(sys.modules.get(library), kind.__name__, None) is kind:
            return None if name in UNTRUSTED else name
    if not OURS.fullmatch(kind.__module__) or "." in kind.__qualname__:
        return None
    for package in ("symsets.nn", "symsets.models"):
        if getattr(sys.modules.get(package), kind.__name__, None) is kind:
            return f"{package}.{kind.__name__}"
    return f"{kind.__module__}.{kind.__name__}"


def check_allowed(allow: Allowed) -> None:
    """Raise TypeError unless ``allow`` lists classes or their names."""
    if isinstance(allow, str) or not isinstance(allow, Sequence):
        raise TypeError(f"allow must be a list of classes or their names, got {shown(allow)}")


class _Maker:
    """Makes networks from descriptions."""

    def __init__(self, allow: Allowed) -> None:
        check_allowed(allow)
        self.allowed: dict[str, type | None] = {}
        for entry in allow:
            if isinstance(entry, type):
                self.allowed[f"{entry.__module__}.{entry.__qualname__}"] = entry
            else:
                self.allowed[str(entry)] = None
        self.made: dict[str, nn.Module] = {}

    def module(self, described: Any, path: str) -> nn.Module:
        """Make a network, or a part of one."""
        if "same" in described:
            return self.made[str(described["same"])]
        if "lift" in described:
            made = self.lifted(described["lift"], path)
        elif "timm" in described:
            made = self.from_timm(described["timm"], described["arguments"])
        elif "network" in described:
            made = build(described["network"], described["arguments"])
        else:
            made = self.of_class(described, path)
        self.made[path] = made
        return made

    def of_class(self, described: dict[str, Any], path: str) -> nn.Module:
        """Make a module by its class."""
        kind = self.find(described["class"])
        if "children" in described:
            if kind.__init__ not in CONTAINERS or not isinstance(described["children"], dict):
                raise ValueError(f"{described['class']} must be a container to have children")
            parts = OrderedDict(
                (name, self.module(part, below(path, name)))
                for name, part in described["children"].items()
            )
            return kind(parts.values() if issubclass(kind, nn.ModuleList) else parts)
        return kind(**self.arguments(described["arguments"], path))

    def find(self, name: str) -> Any:
        """Return a class of torch or of ours by its name, or one that is allowed."""
        package, _, word = name.rpartition(".")
        allowed = name in self.allowed
        known = package in LIBRARIES or OURS.fullmatch(package)
        if not allowed and (not known or name in UNTRUSTED):
            raise ValueError(
                f"the class {shown(name)} is neither of torch nor of symsets: if you trust it, "
                f"load with allow=[{name[:100]!r}]"
            )
        kind = self.allowed.get(name)
        if kind is None:
            try:
                kind = vars(import_module(package)).get(word)
            except (ImportError, ValueError) as error:
                raise ValueError(f"class {shown(name)} cannot be imported: {error}") from None
        if not allowed and isinstance(kind, type) and library_name(kind) != name:
            kind = None
        if not isinstance(kind, type) or not issubclass(kind, nn.Module):
            raise ValueError(f"class must be that of a module, got {shown(name)}")
        return kind

    def lifted(self, described: dict[str, Any], path: str) -> nn.Module:
        """Lift a network."""
        model = self.module(described["model"], below(path, "model"))
        scheme = self.value(described["scheme"], path)
        where = None if scheme == "siamese" else described["where"]
        return lift(model, scheme, where, size=described["size"])

    def from_timm(self, name: Any, arguments: Any) -> nn.Module:
        """Make a network of timm by its name, without its weights."""
        timm = require("timm", "vision")
        if name not in timm.list_models():  # others might be fetched from somewhere
            raise ValueError(f"timm must have a network of that name, got {shown(name)}")
        if not arguments.keys() <= {*TIMM}:
            raise ValueError(f"arguments must be some of {list(TIMM)}, got {shown(arguments)}")
        return timm.create_model(name, pretrained=False, **self.arguments(arguments, name))

    def arguments(self, described: Any, path: str) -> dict[str, Any]:
        """Return the arguments of a constructor."""
        for name, layers in described.items():  # each of which would be made
            many = isinstance(layers, int) and layers > MOST_LAYERS
            if many and name.startswith("num_") and name.endswith("layers"):
                raise ValueError(f"{name} must not be larger than {MOST_LAYERS}, got {layers:,}")
        return {name: self.value(v, below(path, name)) for name, v in described.items()}

    def value(self, value: Any, path: str) -> Any:
        """Return an argument; raise ValueError if it is larger than one of a network can be."""
        if isinstance(value, int) and abs(value) > MOST_INTEGER:
            raise ValueError(f"{path!r} must not be larger than {MOST_INTEGER}, got {shown(value)}")
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            raise ValueError(f"{path!r} must not be longer than {LONGEST_TEXT}, got {shown(value)}")
        if isinstance(value, list):
            return [self.value(item, path) for item in value]
        if not isinstance(value, dict):
            return value
        ways: dict[str, Callable[[Any], Any]] = {
            "module": lambda given: self.module(given, path),
            "tuple": lambda given: tuple(self.value(list(given), path)),
            "dict": lambda given: self.arguments(given, path),
            "float": float,
            "group": _group,
            "permutations": lambda given: PermutationGroup(
                given["generators"], shape=tuple(given["shape"])
            ),
            "function": _function,
        }
        if len(value) != 1 or (way := ways.get(next(iter(value)))) is None:
            raise ValueError(f"{path!r} must be one of {sorted(ways)}, got {shown(value)}")
        return way(next(iter(value.values())))


def _group(text: Any) -> PermutationGroup:
    if not isinstance(text, str) or len(text) > LONGEST_TEXT or re.search(r"\d{4}", text):
        raise ValueError(f"group must be such as 'S5 x C4', and small, got {shown(text)}")
    return parse(text)


def _function(name: Any) -> Any:
    if name not in ACTIVATIONS:
        raise ValueError(f"function must be one of {list(ACTIVATIONS)}, got {shown(name)}")
    return getattr(nn.functional, name)
