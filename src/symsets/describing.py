"""Describe a network as JSON: its class, and the arguments of its constructor."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any

import torch
from torch import nn

from symsets._checks import check_kind, shown
from symsets._files import shorten
from symsets.groups import PermutationGroup, parse
from symsets.lift.network import Lifted
from symsets.making import ACTIVATIONS, CONTAINERS, below, library_name, make
from symsets.models.registry import registered_name
from symsets.nn import Wreath
from symsets.nn._maps import kind_of

PLAIN = (bool, int, float, str, type(None))
NOT_STORED = ("device", "dtype")  # of weights, which say it themselves
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
INSTEAD = "give it an attribute of that name, or a dictionary `arguments` with all of them"
CHANGED = "was it changed after it was made? Give it a dictionary `arguments`"


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
    try:
        with torch.device("meta"):
            made = make(described, allow=[kind for kind in kinds if library_name(kind) is None])
    except Exception as error:  # from constructors of anybody
        raise ValueError(
            f"net cannot be described, as making it again failed: {shorten(str(error))}"
        ) from error
    if where := _difference(net, made):
        raise ValueError(f"net cannot be described: {where}")
    return described


def _describe(module: nn.Module, path: str, seen: dict[nn.Module, str]) -> dict[str, Any]:
    if module in seen:
        return {"same": seen[module]}
    seen[module] = path
    if isinstance(module, Lifted):
        return {"lift": _lifted(module, path, seen)}
    kind = kind_of(module)
    if kind.__module__.startswith("timm.") and hasattr(module, "pretrained_cfg"):
        return _of_timm(module)
    if (name := registered_name(kind)) is not None:
        arguments: Any = module.arguments
        return {"network": name, "arguments": _plain_arguments(arguments, path)}
    word = library_name(kind) or f"{kind.__module__}.{kind.__qualname__}"
    if kind.__init__ in CONTAINERS:
        items = module._modules.items()
        return {
            "class": word,
            "children": {n: _describe(m, below(path, n), seen) for n, m in items if m is not None},
        }
    return {"class": word, "arguments": _values(_arguments(module, kind, path), path, seen)}


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
            if parameter.default is not parameter.empty and library_name(kind) is not None:
                continue  # what came of it is compared
            raise ValueError(
                f"{_place(path, kind)} cannot be described, as its argument {name!r} is nowhere "
                f"in it: {INSTEAD}"
            )
        value = getattr(module, name)
        # Whether there is a weight of that name, as in bias=True.
        is_flag = isinstance(value, nn.Parameter) or (
            value is None and isinstance(parameter.default, bool)
        )
        found[name] = value is not None if is_flag else value
    return found


def _of_timm(module: Any) -> dict[str, Any]:
    """Describe a network of timm; others than those by name are found out by comparing."""
    first = next(p for p in module.parameters() if p.ndim == 4)
    arguments = {"num_classes": module.num_classes, "in_chans": first.shape[1]}
    return {"timm": module.pretrained_cfg["architecture"], "arguments": arguments}


def _lifted(module: Lifted, path: str, seen: dict[nn.Module, str]) -> dict[str, Any]:
    names = [name for name, part in module.model.named_modules() if kind_of(part) is not type(part)]
    inside = _describe(module.model, below(path, "model"), seen)
    return {"model": inside, "scheme": module.scheme, "where": names, "size": module.size}


def _plain_arguments(arguments: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the arguments of a registered network, which JSON holds as they are."""
    try:
        return json.loads(json.dumps(dict(arguments), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"arguments of {path or 'net'!r} must be plain: {error}") from None


def _values(arguments: Mapping[str, Any], path: str, seen: dict[nn.Module, str]) -> dict[str, Any]:
    return {name: _value(value, below(path, name), seen) for name, value in arguments.items()}


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
    if isinstance(value, PermutationGroup):
        if _is_read_back(value):
            return {"group": str(value)}
        if type(value) is PermutationGroup and value.group is value:
            generators = [permutation.tolist() for permutation in value.generators]
            return {"permutations": {"generators": generators, "shape": list(value.shape)}}
    name = getattr(value, "__name__", "")
    if name in ACTIVATIONS and getattr(nn.functional, name) is value:
        return {"function": name}
    raise ValueError(
        f"net cannot be described, as {path!r} is {shown(value)}: arguments must be numbers, text, "
        "lists, groups that have a notation or generators, or networks"
    )


def _is_read_back(group: PermutationGroup) -> bool:
    try:
        return repr(parse(str(group))) == repr(group)
    except ValueError:
        return False


def _place(path: str, kind: type) -> str:
    return f"the part {path!r} ({kind.__name__})" if path else f"net ({kind.__name__})"


def _difference(net: nn.Module, made: nn.Module) -> str:
    """Return what is different about a network that was made again, if anything is."""
    pairs = zip_longest(net.named_modules(), made.named_modules(), fillvalue=("", None))
    for (name, part), (other, fresh) in pairs:
        if part is None or fresh is None or name != other:
            return f"made again it has other parts than {name or other!r}: {CHANGED}"
        if kind_of(part) is not kind_of(fresh) or part.extra_repr() != fresh.extra_repr():
            return f"{_place(name, type(part))} would become another: {CHANGED}"
        own_forward = "forward" in vars(part) and "forward" not in vars(fresh)
        if own_forward or any(len(getattr(part, h)) != len(getattr(fresh, h)) for h in HOOKS):
            return f"{_place(name, type(part))} has hooks or a forward that no file can hold"
        mine, others = _plain(part), _plain(fresh)
        for key in mine.keys() & others.keys():
            if mine[key] != others[key]:
                return (
                    f"{_place(name, type(part))} has {key} = {shown(mine[key])}, and would get "
                    f"{shown(others[key])}: {CHANGED}"
                )
    shapes, fresh_shapes = (
        {name: value.shape for name, value in own.state_dict().items()} for own in (net, made)
    )
    if changed := shapes.items() ^ fresh_shapes.items():
        return f"made again its weight {min(changed)[0]!r} would be another: {CHANGED}"
    if len(list(net.parameters())) != len(list(made.parameters())):
        return "some of its weights are shared between parts: save its state_dict() yourself"
    return ""


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


def _read(part: nn.Module, names: str) -> dict[str, Any]:
    return {name: getattr(part, name) for name in names.split()}


def _of_rnn(part: Any) -> dict[str, Any]:
    own = {nn.LSTM: "proj_size", nn.RNN: "nonlinearity"}.get(kind_of(part), "")
    common = "input_size hidden_size num_layers bias batch_first dropout bidirectional"
    return _read(part, f"{common} {own}")


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
    return {**_read(part, "element size channel_axis"), "in_channels": i, "out_channels": o}


# Classes that do not keep the arguments of their constructor under their names.
SPECIAL: dict[type, Callable[[Any], dict[str, Any]]] = {
    nn.LSTM: _of_rnn,
    nn.GRU: _of_rnn,
    nn.RNN: _of_rnn,
    nn.MultiheadAttention: lambda part: {
        **_read(part, "embed_dim num_heads dropout add_zero_attn kdim vdim batch_first"),
        "bias": part.in_proj_bias is not None,
        "add_bias_kv": part.bias_k is not None,
    },
    nn.TransformerEncoderLayer: _of_encoder_layer,
    nn.TransformerEncoder: lambda part: {
        "encoder_layer": part.layers[0],
        **_read(part, "num_layers norm enable_nested_tensor"),
    },
    Wreath: _of_wreath,
}
