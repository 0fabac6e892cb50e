"""Compare what a model returns for transformed sets with its transformed output."""

import copy
import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils import _pytree as pytree

from symsets._checks import check_choice
from symsets.sets import Sets, fold
from symsets.sets.ragged import check_rows
from symsets.testing.actions import GroupAction, identity, reorder
from symsets.testing.distances import (
    EPS,
    as_floats,
    difference,
    flatten_output,
    is_inexact,
    relative_error,
    rounding_error,
)

TASKS = ("transform", "select", "merge", "classify")

CONVERTED = (
    "x is in float64 here, in which symmetries are tested. A network is converted, too, if it is "
    "passed itself, or to a function as a further argument: (lambda x, net: net(x), x, net)."
)


class EquivarianceCheck:
    """A model and its input, both copied and converted to float64."""

    def __init__(
        self,
        model: Callable[..., Any],
        x: Sets,
        args: tuple[Any, ...],
        moved_args: Sequence[Any] | None,
        task: str,
    ) -> None:
        check_choice("task", task, TASKS)
        fold(x)  # raises unless x is a batch of sets
        self.task = task
        self.model = _to_double(model)
        given = (x, args, args if moved_args is None else tuple(moved_args))
        self.x, self.args, self.moved_args = pytree.tree_map(_to_double, given)

    def error(self, action: GroupAction) -> float:
        """Return the largest relative difference between f(gX) and g f(X)."""
        rounding = self._rounding
        plain, moved = self._run(self.model, (self.x, self.args), self._inputs(action))
        parts, structure = flatten_output(plain)
        moved_parts, moved_structure = flatten_output(moved)
        if moved_structure != structure:
            return math.inf
        expected = [self._act(part, action) for part in parts]
        return max(map(relative_error, moved_parts, expected, rounding))

    def mixing(self) -> float:
        """Return by how much the answer for a set changes with the others of the batch.

        Batch normalisation in training is meant to do that, so then it is not looked at.
        """
        if isinstance(self.model, nn.Module) and any(map(_mixes_batch, self.model.modules())):
            return 0.0
        num = len(self.x)
        alike = [(self.x[[i] * num], self.args) for i in range(num)]
        before, *afters = (
            flatten_output(out)[0] for out in self._run(self.model, (self.x, self.args), *alike)
        )
        errors = [
            relative_error(a[i : i + 1], b[i : i + 1], rounding)
            for i, after in enumerate(afters)
            for a, b, rounding in zip(before, after, self._rounding, strict=True)
            if a.ndim and len(a) == num
        ]
        return max(errors, default=0.0)

    def _run(self, call: Callable[..., Any], *inputs: tuple[Any, tuple[Any, ...]]) -> list[Any]:
        """Call on several inputs, and leave the global random numbers as they were."""
        devices = [self.x.device] if self.x.device.type == "cuda" else []
        with torch.no_grad(), torch.random.fork_rng(devices):
            try:
                return [call(x, *args) for x, args in inputs]
            except Exception as error:
                error.add_note(CONVERTED)
                raise

    def _inputs(self, action: GroupAction) -> tuple[Any, tuple[Any, ...]]:
        """Apply a group action to the input and the further arguments."""
        rows, unfold = fold(self.x)
        args = self.args if action.act is identity else self.moved_args
        moved = action.act(rows)
        check_rows(moved, len(action.order), "symmetry must return")
        return unfold(reorder(moved, action.order)), args

    @cached_property
    def _nudged(self) -> tuple[Any, tuple[Any, ...]]:
        """The input with every entry changed by one rounding; equal entries stay equal."""
        x = pytree.tree_map(lambda x: x * (1 + EPS) if is_inexact(x) else x, self.x)
        return x, self.args

    @cached_property
    def _rounding(self) -> list[float]:
        """How far rounding may change each part of the output."""
        plain, nudged = self._run(self.model, (self.x, self.args), self._nudged)
        parts, nudged_parts = (flatten_output(out)[0] for out in (plain, nudged))
        if len(nudged_parts) != len(parts):
            return [rounding_error(self.x, 0.0)] * len(parts)
        return [rounding_error(self.x, change) for change in map(difference, nudged_parts, parts)]

    def _act(self, out: Any, action: GroupAction) -> Any:
        """Apply a group action to an output."""
        if self.task == "classify":
            return out
        if self.task == "merge":
            return action.act_out(out)
        rows, unfold = fold(out)
        if len(rows) != len(action.order):
            raise ValueError(
                f"model must return one row per element, {len(action.order)}, for task "
                f"{self.task!r}, got {len(rows)}: pass another task="
            )
        act = action.act_out if self.task == "transform" else identity
        return unfold(reorder(act(rows), action.order))

    def first_break(self, action: GroupAction, tolerance: float) -> str | None:
        """Say where a tensor is first not transformed as the input: in a submodule, or before."""
        if not isinstance(self.model, nn.Module):
            return None
        record = partial(recorded, self.model)
        plain, moved = self._run(record, (self.x, self.args), self._inputs(action))
        [nudged] = self._run(record, self._nudged)
        outputs = {self._axes(seen.tensor) for seen in plain if not seen.name}
        known = {(), self._axes(as_floats(self.x)), *outputs}
        for seen, (*_, after), (*_, near) in zip(plain, moved, nudged, strict=False):
            out = seen.tensor
            if action.act is not identity and self._axes(out) not in known:
                continue  # how h acts on elements of this size is not known
            rounding = rounding_error(self.x, difference(near, out))
            allowed = self._allowed(out, action)
            if not any(relative_error(after, other, rounding) <= tolerance for other in allowed):
                module = f"{seen.name!r} ({seen.kind})" if seen.name else seen.kind
                return f"{seen.where} {module}"
        return None

    def _axes(self, out: Tensor) -> tuple[int, ...]:
        """Return the axes of elements after their channels, on which h acts."""
        dense = isinstance(self.x, Tensor) and out.shape[:2] == self.x.shape[:2]
        return tuple(out.shape[3 if dense else 2 :])

    def _allowed(self, out: Tensor, action: GroupAction) -> list[Tensor]:
        """Return all that ``out`` may become: reordered or not, transformed by h or not."""
        total = len(action.order)
        orders = [out]
        if out.ndim and out.shape[0] == total:
            orders.append(reorder(out, action.order))
        if out.ndim > 1 and out.shape[0] * out.shape[1] == total:
            orders.append(reorder(out.flatten(0, 1), action.order).unflatten(0, out.shape[:2]))
        allowed = []
        for rows in orders:
            for act in (identity, action.act, action.act_out):
                try:
                    allowed.append(act(rows))
                except (RuntimeError, IndexError, ValueError):
                    continue  # h does not act on a tensor of this shape
        return allowed


def _to_double(value: Any) -> Any:
    if isinstance(value, nn.Module):
        return _without_zeros(copy.deepcopy(value).double())
    if is_inexact(value):
        return value.to(torch.promote_types(value.dtype, torch.float64))
    return value


def _without_zeros(model: nn.Module) -> nn.Module:
    """Draw weights that are all zero, as new layers may be: they would hide what is wrong."""
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        if parameter.requires_grad and parameter.is_floating_point() and not parameter.any():
            drawn = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            parameter.data.copy_(drawn / 10)
    return model


def _mixes_batch(module: nn.Module) -> bool:
    return isinstance(module, _BatchNorm) and (module.training or not module.track_running_stats)


class Recorded(NamedTuple):
    """What a submodule got (``where`` is ``"before"``) or returned (``"in"``)."""

    where: str
    name: str
    kind: str
    tensor: Tensor


def recorded(model: nn.Module, *inputs: Any) -> list[Recorded]:
    """Run a model; return what every submodule got and returned, one after the other.

    Of what it got, only the first argument; nothing of what the model itself got.
    """
    seen: list[Recorded] = []

    def keep(where: str, name: str, module: nn.Module, value: Any) -> None:
        tensors = (part for part in pytree.tree_leaves(value) if isinstance(part, Tensor))
        seen.extend(Recorded(where, name, type(module).__name__, tensor) for tensor in tensors)

    def before(name: str) -> Callable[..., None]:
        return lambda module, args: keep("before", name, module, args[:1] if name else ())

    def after(name: str) -> Callable[..., None]:
        return lambda module, args, output: keep("in", name, module, output)

    handles = []
    for name, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(before(name)))
        handles.append(module.register_forward_hook(after(name)))
    try:
        model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return seen
