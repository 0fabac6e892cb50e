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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

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

    .. math:: \frac{\max |f(g X) - g f(X)|}{\max(|f(X)|, |X|)}

    The order of every set is drawn at random, and :math:`h` is applied to all elements alike. A
    copy of the model runs in float64; put models with dropout in evaluation mode first.

    Args:
        model: What to test.
        x: A batch of sets.
        args: Further arguments of the model, such as a graph.
        symmetry: How :math:`h` acts on a batch of elements ``(T, C, *E)``: a function such as
            :func:`roll`, or a permutation group acting on the last axes, of which elements are
            drawn. None tests the order alone.
        output_symmetry: How :math:`h` acts on the output, if not as on the input.
        moved_args: What ``args`` become under :math:`h`, if they change.
        task: What the output is: ``"transform"`` (every element), ``"select"`` (a score for every
            element), ``"merge"`` (one element per set), ``"classify"`` (a vector per set).
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
    generator = torch.Generator().manual_seed(seed)
    errors = [
        probe.error(_Move.draw(probe.x, symmetry, output_symmetry, generator))
        for _ in range(trials)
    ]
    return max(errors)


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
    of execution, whose output does not move with its input.

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
    generator = torch.Generator().manual_seed(seed)
    for _ in range(trials):
        move = _Move.draw(probe.x, symmetry, output_symmetry, generator)
        error = probe.error(move)
        if error <= tolerance:
            continue
        reorder, moved = probe.error(move.reorder_only()), probe.error(move.element_only())
        causes = ["the order of the set"] if not reorder <= tolerance else []
        causes += ["the symmetry of the elements"] if not moved <= tolerance else []
        message = f"equivariance error {error:.2g} is above {tolerance:.2g}: "
        message += " and ".join(causes or ["both together"]) + " is not kept"
        if broken := probe.first_break(move, tolerance):
            message += f"; it first breaks in {broken}"
        raise AssertionError(message)


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
            blocks.append(start + torch.randperm(n, generator=generator))
            start += n
        order = torch.cat(blocks) if blocks else torch.empty(0, dtype=torch.int64)
        act = symmetry if symmetry is not None else _stay
        if isinstance(act, PermutationGroup):
            act = _permute(act, generator)
        return cls(order, act, output_symmetry or act)

    def reorder_only(self) -> _Move:
        return _Move(self.order, _stay, _stay)

    def element_only(self) -> _Move:
        return _Move(torch.arange(len(self.order)), self.act, self.act_out)


def _stay(x: Tensor) -> Tensor:
    return x


def _permute(group: PermutationGroup, generator: torch.Generator) -> Action:
    """Draw an element of the group and let it act on the last axes of a tensor."""
    import numpy as np

    seed = int(torch.randint(2**31, (1,), generator=generator))
    permutation = torch.as_tensor(np.asarray(group.random_element(np.random.default_rng(seed))))
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
    """A model in float64 with its input, ready to be moved."""

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
        if isinstance(model, nn.Module):
            model = copy.deepcopy(model).double()
        moved = args if moved_args is None else moved_args
        double = tuple(map(_to_double, args)), tuple(map(_to_double, moved))
        return cls(model, x.to(torch.float64), *double, task)

    @torch.no_grad()
    def error(self, move: _Move) -> float:
        plain = self.model(self.x, *self.args)
        moved = self.model(self._moved(move), *self._args_for(move))
        expected = self._act(plain, move)
        difference = (_tensor(moved) - _tensor(expected)).abs()
        scale = max(_largest(_tensor(plain)), _largest(fold(self.x)[0]), 1e-300)
        error = _largest(difference) / scale
        return float("inf") if error != error else error

    def _moved(self, move: _Move) -> Any:
        rows, unfold = fold(self.x)
        return unfold(move.act(rows)[move.order])

    def _args_for(self, move: _Move) -> tuple[Any, ...]:
        return self.args if move.act is _stay else self.moved_args

    def _act(self, out: Any, move: _Move) -> Any:
        if self.task == "classify":
            return out
        if self.task == "merge":
            return move.act_out(out)
        rows, unfold = fold(out)
        act = move.act_out if self.task == "transform" else _stay
        return unfold(act(rows)[move.order])

    @torch.no_grad()
    def first_break(self, move: _Move, tolerance: float) -> str | None:
        """Name the first submodule whose output does not move with its input."""
        if not isinstance(self.model, nn.Module):
            return None
        plain = self._record(self.x, self.args)
        moved = self._record(self._moved(move), self._args_for(move))
        for (name, kind, before), (_, _, after) in zip(plain, moved, strict=False):
            if not any(
                _close(after, candidate, tolerance) for candidate in self._images(before, move)
            ):
                return f"{name!r} ({kind})" if name else kind
        return None

    def _record(self, x: Any, args: tuple[Any, ...]) -> list[tuple[str, str, Tensor]]:
        """Run the model and keep what every submodule returns, in the order of execution."""
        assert isinstance(self.model, nn.Module)
        seen: list[tuple[str, str, Tensor]] = []

        def hook(name: str) -> Callable[..., None]:
            def keep(module: nn.Module, inputs: Any, output: Any) -> None:
                if isinstance(output, Tensor | RaggedSets):
                    seen.append((name, type(module).__name__, _tensor(output)))

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
            reordered.append(out[move.order])
        if out.ndim > 1 and out.shape[0] * out.shape[1] == total:
            reordered.append(out.flatten(0, 1)[move.order].unflatten(0, out.shape[:2]))
        images = []
        for candidate in reordered:
            for act in (_stay, move.act, move.act_out):
                try:
                    images.append(act(candidate))
                except (RuntimeError, IndexError, ValueError):
                    continue  # h does not act on a tensor of this shape
        return images


def _to_double(value: Any) -> Any:
    if isinstance(value, Tensor) and not value.is_floating_point():
        return value
    return value.to(torch.float64) if hasattr(value, "to") else value


def _tensor(out: Any) -> Tensor:
    rows = out.elements if isinstance(out, RaggedSets) else out
    return _tensor(rows) if isinstance(rows, RaggedSets) else rows


def _largest(x: Any) -> float:
    values = _tensor(x)
    return float(values.abs().max()) if values.numel() else 0.0


def _close(a: Tensor, b: Tensor, tolerance: float) -> bool:
    return a.shape == b.shape and _largest(a - b) <= tolerance * max(_largest(b), 1e-300)
