"""Describe a network as JSON, and make it again from its description.

A description names a class and the arguments of its constructor, which may be networks themselves.
Classes are looked up by name in torch, torch_geometric and this package; any other class must be
allowed by whoever makes the network. Nothing else of a description is ever executed.
"""

from __future__ import annotations

import inspect
import json
import math
import re
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor, nn

from symsets._checks import check_kind, shown
from symsets.groups import PermutationGroup, parse
from symsets.lift import lift
from symsets.lift.network import Lifted
from symsets.models.registry import build, registered_name
from symsets.nn import Wreath
from symsets.nn._maps import kind_of

Allowed = Sequence[str | type]
LIBRARIES = ("torch.nn", "torch_geometric.nn")
OURS = re.compile(r"symsets\.(nn|models)(\.[A-Za-z_]\w*)*")
PLAIN = (bool, int, float, str, type(None))
CONTAINERS = tuple(kind.__init__ for kind in (nn.Sequential, nn.ModuleList, nn.ModuleDict))
NOT_STORED = ("device", "dtype")  # of weights, which say it themselves
MOST_INTEGER, LONGEST_TEXT = 2**31, 200
INSTEAD = "give it an attribute of that name, or a dictionary `arguments` with all of them"


class NotDescribedError(ValueError):
    """A network, or a part of one, has no description."""


def describe(net: nn.Module) -> dict[str, Any]:
    """Return a description that :func:`make` makes the same network of, but for its weights.

    Raise ValueError naming the part that cannot be described, and what to do.

    Example:
        >>> describe(nn.Flatten())
        {'class': 'torch.nn.Flatten', 'arguments': {'start_dim': 1, 'end_dim': -1}}
    """
    check_kind("net", net, nn.Module, "network")
    described = _describe(net, "", {})
    kinds = {type(part) for part in net.modules()}
    with torch.device("meta"):
        made = make(described, allow=[kind for kind in kinds if _library_name(kind) is None])
    if where := _difference(net, made):
        raise NotDescribedError(f"net cannot be described: {where}")
    return described


def make(described: Any, *, allow: Allowed = ()) -> nn.Module:
    """Make a network from its description, with fresh weights.

    Args:
        described: What :func:`describe` returned.
        allow: Classes, or their names with the module in front, that may be imported and called
            beside those of torch and this package.
    """
    return _Maker(allow).module(described, "")


def check_repeats(described: Any, most: int) -> None:
    """Raise ValueError if a description asks for more layers in a row than there are weights."""
    if isinstance(described, list):
        for item in described:
            check_repeats(item, most)
    elif isinstance(described, dict):
        for name, value in described.items():
            if name == "num_layers" and isinstance(value, int) and value > most:
                raise ValueError(f"it describes {value:,} layers where there are {most} weights")
            check_repeats(value, most)


def _describe(module: nn.Module, path: str, seen: dict[nn.Module, str]) -> dict[str, Any]:
    if module in seen:
        return {"same": seen[module]}
    seen[module] = path
    if isinstance(module, Lifted):
        return {"lift": _lifted(module, path, seen)}
    kind = kind_of(module)
    if (name := registered_name(kind)) is not None:
        arguments: Any = module.arguments
        return {"network": name, "arguments": _plain_arguments(arguments, path)}
    word = _library_name(kind) or f"{kind.__module__}.{kind.__qualname__}"
    if kind.__init__ in CONTAINERS:
        items = module._modules.items()
        return {
            "class": word,
            "children": {n: _describe(m, _below(path, n), seen) for n, m in items if m is not None},
        }
    return {"class": word, "arguments": _values(_arguments(module, kind, path), path, seen)}


def _library_name(kind: type) -> str | None:
    """Return the name by which a class of torch or of ours is found, if it is one."""
    for library in LIBRARIES:
        there = library.partition(".")[0] == kind.__module__.partition(".")[0]
        if there and getattr(sys.modules.get(library), kind.__name__, None) is kind:
            return f"{library}.{kind.__name__}"
    if not OURS.fullmatch(kind.__module__) or "." in kind.__qualname__:
        return None
    for package in ("symsets.nn", "symsets.models"):
        if getattr(sys.modules.get(package), kind.__name__, None) is kind:
            return f"{package}.{kind.__name__}"
    return f"{kind.__module__}.{kind.__name__}"


def _arguments(module: nn.Module, kind: Any, path: str) -> Mapping[str, Any]:
    """Return the arguments that a module was made with, read off its attributes."""
    own = getattr(module, "arguments", None)
    if isinstance(own, Mapping):
        return own
    if (read := SPECIAL.get(kind)) is not None:
        return read(module)
    found = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if name in NOT_STORED or name.startswith("_"):
            continue
        if not hasattr(module, name):
            if parameter.default is not parameter.empty and not _is_own(kind):
                continue  # what came of it is compared
            raise NotDescribedError(
                f"{_place(path, kind)} cannot be described, as its argument {name!r} is nowhere "
                f"in it: {INSTEAD}"
            )
        value = getattr(module, name)
        found[name] = _as_flag(value) if _is_flag(name, parameter, value) else value
    return found


def _is_own(kind: type) -> bool:
    return _library_name(kind) is None


def _is_flag(name: str, parameter: inspect.Parameter, value: Any) -> bool:
    """Whether an argument says if there is a weight of that name (``bias=True``)."""
    weight = isinstance(value, Tensor) or (value is None and isinstance(parameter.default, bool))
    return weight and not isinstance(value, nn.Module)


def _as_flag(value: Any) -> bool:
    return value is not None


def _lifted(module: Lifted, path: str, seen: dict[nn.Module, str]) -> dict[str, Any]:
    names = [name for name, part in module.model.named_modules() if kind_of(part) is not type(part)]
    inside = _describe(module.model, _below(path, "model"), seen)
    return {"model": inside, "scheme": module.scheme, "where": names, "size": module.size}


def _plain_arguments(arguments: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the arguments of a registered network, which JSON holds as they are."""
    try:
        return json.loads(json.dumps(dict(arguments), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise NotDescribedError(f"arguments of {path or 'net'!r} must be plain: {error}") from None


def _values(arguments: Mapping[str, Any], path: str, seen: dict[nn.Module, str]) -> dict[str, Any]:
    return {name: _value(value, _below(path, name), seen) for name, value in arguments.items()}


def _value(value: Any, path: str, seen: dict[nn.Module, str]) -> Any:
    """Return an argument as JSON holds it."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, nn.Module):
        return {"module": _describe(value, path, seen)}
    if isinstance(value, tuple):
        return {"tuple": [_value(item, path, seen) for item in value]}
    if isinstance(value, list):
        return [_value(item, path, seen) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": _values(value, path, seen)}
    if isinstance(value, PermutationGroup) and _is_read_back(value):
        return {"group": str(value)}
    name = getattr(value, "__name__", "")
    if name in ACTIVATIONS and getattr(nn.functional, name) is value:
        return {"function": name}
    raise NotDescribedError(
        f"net cannot be described, as {path!r} is {shown(value)}: arguments must be numbers, text, "
        "lists, groups or networks"
    )


def _is_read_back(group: PermutationGroup) -> bool:
    try:
        return repr(parse(str(group))) == repr(group)
    except ValueError:
        return False


class _Maker:
    """Makes networks from descriptions."""

    def __init__(self, allow: Allowed) -> None:
        if isinstance(allow, str) or not isinstance(allow, Sequence):
            raise TypeError(f"allow must be a list of classes or their names, got {shown(allow)}")
        self.allowed: dict[str, type | None] = {}
        for entry in allow:
            if isinstance(entry, type):
                self.allowed[f"{entry.__module__}.{entry.__qualname__}"] = entry
            else:
                self.allowed[str(entry)] = None
        self.made: dict[str, nn.Module] = {}

    def module(self, described: Any, path: str) -> nn.Module:
        """Make a network, or a part of one."""
        if not isinstance(described, dict):
            raise ValueError(f"a module must be described by an object, got {shown(described)}")
        if "same" in described:
            return self.made[str(described["same"])]
        if "lift" in described:
            made = self.lifted(described["lift"], path)
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
                (name, self.module(part, _below(path, name)))
                for name, part in described["children"].items()
            )
            return kind(parts.values() if issubclass(kind, nn.ModuleList) else parts)
        arguments = self.arguments(described["arguments"], path)
        try:
            inspect.signature(kind).bind(**arguments)
        except TypeError as error:
            raise ValueError(f"arguments of {described['class']}: {error}") from None
        return kind(**arguments)

    def find(self, name: Any) -> Any:
        """Return a class of torch or of ours by its name, or one that is allowed."""
        if not isinstance(name, str):
            raise ValueError(f"class must be a name, got {shown(name)}")
        package, _, word = name.rpartition(".")
        if name in self.allowed:
            kind = self.allowed[name] or _imported(name)
        elif package in LIBRARIES or OURS.fullmatch(package):
            try:
                kind = vars(import_module(package)).get(word)
            except ImportError as error:
                raise ValueError(f"class {shown(name)} cannot be found: {error}") from None
            if isinstance(kind, type) and _library_name(kind) != name:
                kind = None
        else:
            raise ValueError(
                f"the class {shown(name)} is neither of torch nor of symsets: if you trust it, "
                f"load with allow=[{name[:100]!r}]"
            )
        if not isinstance(kind, type) or not issubclass(kind, nn.Module):
            raise ValueError(f"class must be that of a module, got {shown(name)}")
        return kind

    def lifted(self, described: dict[str, Any], path: str) -> nn.Module:
        """Lift a network."""
        if not all(isinstance(name, str) for name in described["where"]):
            raise ValueError(f"where must list names, got {shown(described['where'])}")
        model = self.module(described["model"], _below(path, "model"))
        scheme = self.value(described["scheme"], path)
        where = None if scheme == "siamese" else described["where"]
        return lift(model, scheme, where, size=described["size"])

    def arguments(self, described: Any, path: str) -> dict[str, Any]:
        """Return the arguments of a constructor."""
        if not isinstance(described, dict):
            raise ValueError(f"arguments must be an object, got {shown(described)}")
        return {name: self.value(v, _below(path, name)) for name, v in described.items()}

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
            "float": _infinite,
            "group": _group,
            "function": _function,
        }
        if len(value) != 1 or (way := ways.get(next(iter(value)))) is None:
            raise ValueError(f"{path!r} must be one of {sorted(ways)}, got {shown(value)}")
        return way(next(iter(value.values())))


def _imported(name: str) -> Any:
    """Return a class that somebody has allowed."""
    package, _, word = name.rpartition(".")
    try:
        return vars(import_module(package)).get(word)
    except (ImportError, ValueError) as error:
        raise ValueError(f"class {shown(name)} cannot be imported: {error}") from None


def _infinite(text: Any) -> float:
    if text not in ("inf", "-inf", "nan"):
        raise ValueError(f"float must be 'inf', '-inf' or 'nan', got {shown(text)}")
    return float(text)


def _group(text: Any) -> PermutationGroup:
    if not isinstance(text, str) or len(text) > LONGEST_TEXT or re.search(r"\d{4}", text):
        raise ValueError(
            f"group must be such as 'S5 x C4', of less than 1000 points, got {shown(text)}"
        )
    return parse(text)


def _function(name: Any) -> Any:
    if name not in ACTIVATIONS:
        raise ValueError(f"function must be one of {list(ACTIVATIONS)}, got {shown(name)}")
    return getattr(nn.functional, name)


ACTIVATIONS = ("relu", "gelu", "silu", "elu", "leaky_relu", "tanh", "sigmoid", "selu", "mish")


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _place(path: str, kind: type) -> str:
    return f"the part {path!r} ({kind.__name__})" if path else f"net ({kind.__name__})"


def _difference(net: nn.Module, made: nn.Module) -> str:
    """Return what is different about a network that was made again, if anything is."""
    pairs = zip_longest(net.named_modules(), made.named_modules(), fillvalue=("", None))
    for (name, part), (other, fresh) in pairs:
        if part is None or fresh is None or name != other:
            return f"made again it has other parts than {name or other!r}: {INSTEAD_OF_CHANGE}"
        if kind_of(part) is not kind_of(fresh) or part.extra_repr() != fresh.extra_repr():
            return f"{_place(name, type(part))} would become another: {INSTEAD_OF_CHANGE}"
        mine, others = _plain(part), _plain(fresh)
        for key in mine.keys() & others.keys():
            if mine[key] != others[key]:
                return (
                    f"{_place(name, type(part))} has {key} = {shown(mine[key])}, and would get "
                    f"{shown(others[key])}: {INSTEAD_OF_CHANGE}"
                )
    shapes, fresh_shapes = (
        {name: value.shape for name, value in own.state_dict().items()} for own in (net, made)
    )
    for name in shapes.keys() | fresh_shapes.keys():
        if shapes.get(name) != fresh_shapes.get(name):
            return f"made again its weight {name!r} would be another: {INSTEAD_OF_CHANGE}"
    if len(list(net.parameters())) != len(list(made.parameters())):
        return "some of its weights are shared between parts: save its state_dict() yourself"
    return ""


INSTEAD_OF_CHANGE = "was it changed after it was made? Give it a dictionary `arguments`"


def _plain(part: nn.Module) -> dict[str, Any]:
    """Return the attributes that are numbers, flags, text or tuples of them."""

    def is_plain(value: Any) -> bool:
        if isinstance(value, tuple | list):
            return all(map(is_plain, value))
        return isinstance(value, PLAIN) and value == value

    hidden = ("training", "history")
    return {
        name: value
        for name, value in vars(part).items()
        if not name.startswith("_") and name not in hidden and is_plain(value)
    }


ATTENTION_NAMES = (
    "embed_dim",
    "num_heads",
    "dropout",
    "add_zero_attn",
    "kdim",
    "vdim",
    "batch_first",
)
RNN_NAMES = (
    *("input_size", "hidden_size", "num_layers"),
    *("bias", "batch_first", "dropout", "bidirectional"),
)


def _of_rnn(part: Any) -> dict[str, Any]:
    found = {name: getattr(part, name) for name in RNN_NAMES}
    if isinstance(part, nn.LSTM):
        return {**found, "proj_size": part.proj_size}
    return {**found, "nonlinearity": part.nonlinearity} if isinstance(part, nn.RNN) else found


def _of_attention(part: Any) -> dict[str, Any]:
    found = {name: getattr(part, name) for name in ATTENTION_NAMES}
    flags = {"bias": part.in_proj_bias is not None, "add_bias_kv": part.bias_k is not None}
    return {**found, **flags}


def _of_encoder_layer(part: Any) -> dict[str, Any]:
    return {
        "d_model": part.self_attn.embed_dim,
        "nhead": part.self_attn.num_heads,
        "dim_feedforward": part.linear1.out_features,
        "dropout": part.dropout.p,
        "activation": part.activation,
        "layer_norm_eps": part.norm1.eps,
        "batch_first": part.self_attn.batch_first,
        "norm_first": part.norm_first,
        "bias": part.linear1.bias is not None,
    }


def _of_wreath(part: Any) -> dict[str, Any]:
    o, i = part.beta.shape
    size, axis = part.size, part.channel_axis
    channels = {"in_channels": i, "out_channels": o}
    return {"element": part.element, **channels, "size": size, "channel_axis": axis}


# Classes that do not keep the arguments of their constructor under their names.
SPECIAL: dict[type, Callable[[Any], dict[str, Any]]] = {
    nn.LSTM: _of_rnn,
    nn.GRU: _of_rnn,
    nn.RNN: _of_rnn,
    nn.MultiheadAttention: _of_attention,
    nn.TransformerEncoderLayer: _of_encoder_layer,
    nn.TransformerEncoder: lambda part: {
        "encoder_layer": part.layers[0],
        "num_layers": part.num_layers,
        "norm": part.norm,
        "enable_nested_tensor": part.enable_nested_tensor,
    },
    Wreath: _of_wreath,
}
