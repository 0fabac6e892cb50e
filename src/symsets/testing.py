"""Check that a layer or a whole model has the symmetry it promises.

Example:
    >>> import torch
    >>> from torch import nn
    >>> from symsets import DSS
    >>> layer = DSS(nn.Conv1d(3, 8, 5, padding=2, padding_mode="circular"))
    >>> assert_equivariant(layer, torch.randn(2, 6, 3, 32), symmetry=roll(7))
"""

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

from symsets._distances import (
    EPS,
    difference,
    distance,
    explained_by_rounding,
    is_inexact,
    numbers_of,
    parts_of,
)
from symsets.groups import PermutationGroup
from symsets.sets import RaggedSets, Sets, fold

__all__ = ["assert_equivariant", "equivariance_error", "roll"]

Action = Callable[[Tensor], Tensor]
TASKS = ("transform", "select", "merge", "classify")


def roll(*shifts: int) -> Action:
    """Return the circular shift of the last axes of an element, as a symmetry to test.

    Example:
        >>> roll(1)(torch.arange(4))
        tensor([3, 0, 1, 2])
    """
    axes = tuple(range(-len(shifts), 0))
    return lambda x: x.roll(shifts, axes)


def equivariance_error(
    model: Callable[..., Any],
    x: Sets,
    *args: Any,
    symmetry: Action | PermutationGroup | None = None,
    output_symmetry: Action | None = None,
    moved_args: Sequence[Any] | None = None,
    task: str = "transform",
    trials: int = 3,
    seed: int = 0,
) -> float:
    r"""Measure by how much a model misses the symmetry :math:`S_N \times H`.

    .. math:: \frac{\max |f(g X) - g f(X)|}{\max(|f(X)|, |f(g X)|)}

    The order of every set is drawn at random, and :math:`h` is applied to all elements alike. A
    copy of the model runs in float64; put models with dropout in evaluation mode first. An output
    that is not finite counts as an infinite error. Where outputs are the small rest of large
    inputs, as after removing a mean, they differ by rounding: what a few hundred roundings of the
    input explain counts as no error. Of several outputs, each is measured on its own.

    Args:
        model: What to test. It returns a tensor, sets, or a tuple, list or dictionary of them.
        x: A batch of sets.
        args: Further arguments of the model that all elements share, such as a graph. Networks
            among them run in float64 as the model does.
        symmetry: How :math:`h` acts on a batch of elements ``(T, C, *E)``: a function such as
            :func:`roll`, or a permutation group acting on the last axes, of which elements are
            drawn. None tests the order alone.
        output_symmetry: How :math:`h` acts on the output, if not as on the input.
        moved_args: What ``args`` become under :math:`h`, if they change.
        task: What every output is: ``"transform"`` (every element), ``"select"`` (a score for
            every element), ``"merge"`` (one element per set), ``"classify"`` (a vector per set).
        trials: How many draws to take the maximum over.
        seed: Of the draws.

    Example:
        >>> from symsets.nn import Select
        >>> x = torch.randn(2, 5, 3, 16)
        >>> equivariance_error(Select(3), x, symmetry=roll(3), task="select") < 1e-12
        True
        >>> equivariance_error(lambda x: x.cumsum(1), x) > 0.1
        True
    """
    probe = _Probe.of(model, x, args, moved_args, task)
    moves = _draw_moves(probe.x, symmetry, output_symmetry, trials, seed)
    return max(probe.error(move) for move in moves)


def assert_equivariant(
    model: Callable[..., Any],
    x: Sets,
    *args: Any,
    symmetry: Action | PermutationGroup | None = None,
    output_symmetry: Action | None = None,
    moved_args: Sequence[Any] | None = None,
    task: str = "transform",
    trials: int = 3,
    seed: int = 0,
    tolerance: float = 1e-9,
) -> None:
    """Raise an ``AssertionError`` that says where the symmetry of a model breaks, if it does.

    The arguments are those of :func:`equivariance_error`. The message tells whether the order of
    the set or the symmetry of the elements breaks it, and names the first submodule, in the order
    of execution, whose output does not move with the input of the model. Where elements have the
    size of neither the input nor the output, as between strides, :math:`h` is not known and not
    checked.

    Args:
        model: What to test.
        x: A batch of sets.
        args: Further arguments of the model.
        symmetry: How :math:`h` acts on a batch of elements.
        output_symmetry: How :math:`h` acts on the output, if not as on the input.
        moved_args: What ``args`` become under :math:`h`, if they change.
        task: What the output is.
        trials: How many draws to take the maximum over.
        seed: Of the draws.
        tolerance: The largest relative error that passes.
    """
    probe = _Probe.of(model, x, args, moved_args, task)
    for move in _draw_moves(probe.x, symmetry, output_symmetry, trials, seed):
        error = probe.error(move)
        if not error <= tolerance:
            message = f"equivariance error {error:.2g} is above {tolerance:.2g}: "
            raise AssertionError(message + _diagnosis(probe, move, tolerance))


def _diagnosis(probe: _Probe, move: _Move, tolerance: float) -> str:
    """Say which of the two symmetries breaks, and where first."""
    if not probe.error(move.nothing()) <= tolerance:
        return "the model does not repeat itself (dropout? a NaN?); use evaluation mode"
    order = not probe.error(move.reorder_only()) <= tolerance
    element = not probe.error(move.element_only()) <= tolerance
    if order and element:
        verdict = "neither the order of the set nor the symmetry of the elements is kept"
    elif order or element:
        verdict = (
            f"{'the order of the set' if order else 'the symmetry of the elements'} is not kept"
        )
    else:
        verdict = "order and symmetry are kept, but not both together"
    if order != element:
        move = move.reorder_only() if order else move.element_only()
    broken = probe.first_break(move, tolerance)
    return f"{verdict}; it first breaks in {broken}" if broken else verdict


@dataclass(frozen=True)
class _Move:
    """An element of S_N × H: a new order for the rows of all sets, and a map of elements."""

    order: Tensor
    act: Action
    act_out: Action

    @classmethod
    def draw(
        cls,
        x: Sets,
        symmetry: Action | PermutationGroup | None,
        output_symmetry: Action | None,
        generator: torch.Generator,
    ) -> _Move:
        counts = x.partition.counts if isinstance(x, RaggedSets) else (x.shape[1],) * x.shape[0]
        blocks, start = [], 0
        for n in counts:
            blocks.append(start + torch.randperm(n, generator=generator, device="cpu"))
            start += n
        order = torch.cat(blocks) if blocks else torch.empty(0, dtype=torch.int64, device="cpu")
        act = symmetry if symmetry is not None else _stay
        if isinstance(act, PermutationGroup):
            act = _permute(act, generator)
        return cls(order, act, output_symmetry or act)

    def reorder_only(self) -> _Move:
        return _Move(self.order, _stay, _stay)

    def element_only(self) -> _Move:
        return _Move(self.order.sort().values, self.act, self.act_out)

    def nothing(self) -> _Move:
        return self.reorder_only().element_only()


def _draw_moves(
    x: Sets,
    symmetry: Action | PermutationGroup | None,
    output_symmetry: Action | None,
    trials: int,
    seed: int,
) -> list[_Move]:
    if not (symmetry is None or callable(symmetry) or isinstance(symmetry, PermutationGroup)):
        raise TypeError(
            f"symmetry must be a function or a permutation group, got {symmetry!r}; "
            "symsets.groups.parse reads names"
        )
    if not (output_symmetry is None or callable(output_symmetry)):
        raise TypeError(f"output_symmetry must be a function, got {output_symmetry!r}")
    if trials < 1:
        raise ValueError(f"trials must be at least 1, got {trials}")
    generator = torch.Generator().manual_seed(seed)
    return [_Move.draw(x, symmetry, output_symmetry, generator) for _ in range(trials)]


def _stay(x: Tensor) -> Tensor:
    return x


def _permute(group: PermutationGroup, generator: torch.Generator) -> Action:
    """Draw an element of the group and let it act on the last axes of a tensor."""
    import numpy as np

    seed = int(torch.randint(2**31, (1,), generator=generator, device="cpu"))
    permutation = torch.tensor(group.random_element(np.random.default_rng(seed)), device="cpu")
    inverse, shape = permutation.argsort(), tuple(group.shape)

    def act(x: Tensor) -> Tensor:
        if tuple(x.shape[x.ndim - len(shape) :]) != shape:
            raise ValueError(
                f"symmetry must act on the last axes of x, got {group} for shape {tuple(x.shape)}"
            )
        return x.flatten(x.ndim - len(shape))[..., inverse.to(x.device)].unflatten(-1, shape)

    return act


@dataclass(frozen=True)
class _Probe:
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
    ) -> _Probe:
        if task not in TASKS:
            raise ValueError(f"task must be one of {list(TASKS)}, got {task!r}")
        fold(x)  # one sentence if x is no batch of sets
        given = (model, x, tuple(args))
        if isinstance(model, nn.Module):
            model = copy.deepcopy(model).double()
        moved = args if moved_args is None else moved_args
        x, args, moved = pytree.tree_map(_to_double, (x, tuple(args), tuple(moved)))
        return cls(given, model, x, args, moved, task)

    def error(self, move: _Move) -> float:
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

    def _moved(self, move: _Move) -> Any:
        rows, unfold = fold(self.x)
        return unfold(_reorder(move.act(rows), move.order))

    def _args_for(self, move: _Move) -> tuple[Any, ...]:
        return self.args if move.act is _stay else self.moved_args

    def _act(self, out: Any, move: _Move) -> Any:
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
        act = move.act_out if self.task == "transform" else _stay
        return unfold(_reorder(act(rows), move.order))

    def first_break(self, move: _Move, tolerance: float) -> str | None:
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
            if move.act is not _stay and self._axes(before) not in known:
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

    def _images(self, out: Tensor, move: _Move) -> list[Tensor]:
        """Return all that ``out`` may become: reordered or not, moved by h or not."""
        total = len(move.order)
        reordered = [out]
        if out.ndim and out.shape[0] == total:
            reordered.append(_reorder(out, move.order))
        if out.ndim > 1 and out.shape[0] * out.shape[1] == total:
            reordered.append(_reorder(out.flatten(0, 1), move.order).unflatten(0, out.shape[:2]))
        images = []
        for candidate in reordered:
            for act in (_stay, move.act, move.act_out):
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


def _reorder(rows: Any, order: Tensor) -> Any:
    if isinstance(rows, RaggedSets):
        return RaggedSets.from_list([rows[i] for i in order.tolist()])
    return rows[order.to(rows.device)]
