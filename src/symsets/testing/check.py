"""A model and its input, ready to be moved and compared."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from symsets._checks import check_choice
from symsets.sets import Sets, fold
from symsets.testing.actions import GroupAction, identity, reorder
from symsets.testing.distances import (
    EPS,
    difference,
    distance,
    explained_by_rounding,
    is_inexact,
    numbers_of,
    parts_of,
)

__all__ = ["EquivarianceCheck"]

TASKS = ("transform", "select", "merge", "classify")


@dataclass(frozen=True)
class EquivarianceCheck:
    """A model in float64 with its input, ready to be moved; and both as they were given."""

    given: tuple[Callable[..., Any], Sets, tuple[Any, ...]]
    model: Callable[..., Any]
    x: Sets
    args: tuple[Any, ...]
    moved_args: tuple[Any, ...]
    task: str

    @classmethod
    def of(
        cls,
        model: Callable[..., Any],
        x: Sets,
        args: tuple[Any, ...],
        moved_args: Sequence[Any] | None,
        task: str,
    ) -> EquivarianceCheck:
        """Bring a model and its input to float64."""
        check_choice("task", task, TASKS)
        fold(x)  # one sentence if x is no batch of sets
        given = (model, x, tuple(args))
        if isinstance(model, nn.Module):
            model = copy.deepcopy(model).double()
        moved = args if moved_args is None else moved_args
        x, args, moved = pytree.tree_map(_to_double, (x, tuple(args), tuple(moved)))
        return cls(given, model, x, args, moved, task)

    def error(self, move: GroupAction) -> float:
        """Return how far the output is from moving with the input."""
        with torch.no_grad(), _kept_randomness(self.x):
            plain = self._plain()
            moved = self.model(self._moved(move), *self._args_for(move))
        parts, spec = parts_of(plain)
        moved_parts, moved_spec = parts_of(moved)
        if moved_spec != spec:
            return math.inf
        images = [self._act(part, move) for part in parts]
        return max(map(distance, moved_parts, images, self._rounding))

    def _plain(self) -> Any:
        """Run the model on the input where it is, and tell if float64 is what it cannot take."""
        try:
            return self.model(self.x, *self.args)
        except (RuntimeError, TypeError, ValueError) as error:
            if not self._runs_as_given():
                raise
            raise TypeError(
                "model must take x in float64, in which symmetries are tested, and not only the "
                "type of x: pass a network itself, or a function with the network as a further "
                "argument, as in (lambda x, net: net(x), x, net), and it is converted"
            ) from error

    def _runs_as_given(self) -> bool:
        """Whether the model takes its input as it was, before all became float64."""
        try:
            model, x, args = copy.deepcopy(self.given)
            model(x, *args)
        except (RuntimeError, TypeError, ValueError):
            return False
        return True

    @cached_property
    def _rounding(self) -> list[float]:
        """By how much each part of the output may change where the input is rounded otherwise."""
        with torch.no_grad(), _kept_randomness(self.x):
            plain, _ = parts_of(self._plain())
        with torch.no_grad(), _kept_randomness(self.x):
            nudged, _ = parts_of(self.model(self._nudged(), *self.args))
        if len(nudged) != len(plain):
            return [explained_by_rounding(self.x, 0.0)] * len(plain)
        return [explained_by_rounding(self.x, change) for change in map(difference, nudged, plain)]

    def _nudged(self) -> Any:
        """Change every entry of the input by one rounding; equal entries stay equal."""
        return pytree.tree_map(lambda x: x * (1 + EPS) if is_inexact(x) else x, self.x)

    def _moved(self, move: GroupAction) -> Any:
        rows, unfold = fold(self.x)
        return unfold(reorder(move.act(rows), move.order))

    def _args_for(self, move: GroupAction) -> tuple[Any, ...]:
        return self.args if move.act is identity else self.moved_args

    def _act(self, out: Any, move: GroupAction) -> Any:
        if self.task == "classify":
            return out
        if self.task == "merge":
            return move.act_out(out)
        rows, unfold = fold(out)
        if len(rows) != len(move.order):
            raise ValueError(
                f"model must return one row per element, {len(move.order)}, for task "
                f"{self.task!r}, got {len(rows)}: pass another task="
            )
        act = move.act_out if self.task == "transform" else identity
        return unfold(reorder(act(rows), move.order))

    def first_break(self, move: GroupAction, tolerance: float) -> str | None:
        """Name the first submodule whose output does not move with its input."""
        if not isinstance(self.model, nn.Module):
            return None
        with torch.no_grad(), _kept_randomness(self.x):
            plain = self._record(self.x, self.args)
            moved = self._record(self._moved(move), self._args_for(move))
        with torch.no_grad(), _kept_randomness(self.x):
            nudged = self._record(self._nudged(), self.args)
        outputs = {self._axes(out) for name, _, out in plain if not name}
        known = {(), self._axes(numbers_of(self.x)), *outputs}
        for (name, kind, before), (_, _, after), (*_, near) in zip(
            plain, moved, nudged, strict=False
        ):
            if move.act is not identity and self._axes(before) not in known:
                continue
            rounding = explained_by_rounding(self.x, difference(near, before))
            images = self._images(before, move)
            if not any(distance(after, image, rounding) <= tolerance for image in images):
                return f"{name!r} ({kind})" if name else kind
        return None

    def _axes(self, out: Tensor) -> tuple[int, ...]:
        """Return the axes of elements after their channels, on which h acts."""
        dense = isinstance(self.x, Tensor) and out.shape[:2] == self.x.shape[:2]
        return tuple(out.shape[3 if dense else 2 :])

    def _record(self, x: Any, args: tuple[Any, ...]) -> list[tuple[str, str, Tensor]]:
        """Run the model and keep what every submodule returns, in the order of execution."""
        assert isinstance(self.model, nn.Module)
        seen: list[tuple[str, str, Tensor]] = []

        def hook(name: str) -> Callable[..., None]:
            def keep(module: nn.Module, inputs: Any, output: Any) -> None:
                for part in pytree.tree_leaves(output):
                    if isinstance(part, Tensor):
                        seen.append((name, type(module).__name__, part))

            return keep

        handles = [m.register_forward_hook(hook(name)) for name, m in self.model.named_modules()]
        try:
            self.model(x, *args)
        finally:
            for handle in handles:
                handle.remove()
        return seen

    def _images(self, out: Tensor, move: GroupAction) -> list[Tensor]:
        """Return all that ``out`` may become: reordered or not, moved by h or not."""
        total = len(move.order)
        reordered = [out]
        if out.ndim and out.shape[0] == total:
            reordered.append(reorder(out, move.order))
        if out.ndim > 1 and out.shape[0] * out.shape[1] == total:
            reordered.append(reorder(out.flatten(0, 1), move.order).unflatten(0, out.shape[:2]))
        images = []
        for candidate in reordered:
            for act in (identity, move.act, move.act_out):
                try:
                    images.append(act(candidate))
                except (RuntimeError, IndexError, ValueError):
                    continue  # h does not act on a tensor of this shape
        return images


def _kept_randomness(x: Sets) -> Any:
    """Return a context that leaves the global random numbers as it found them."""
    return torch.random.fork_rng([x.device] if x.device.type == "cuda" else [])


def _to_double(value: Any) -> Any:
    if isinstance(value, nn.Module):
        return copy.deepcopy(value).double()
    if is_inexact(value):
        return value.to(torch.promote_types(value.dtype, torch.float64))
    return value
