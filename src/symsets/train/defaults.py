"""What each task makes small and reports, unless told otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from symsets.nn import select_loss
from symsets.sets import RaggedSets, Sets, pool
from symsets.train.metrics import Loss, Metric, accuracy, psnr


class Constant:
    """Numbers that a loss needs, kept on every device that they are used on.

    A CUDA graph cannot copy them there.
    """

    def __init__(self, values: Sequence[float] | Tensor) -> None:
        self.values = torch.as_tensor(values, dtype=torch.float64)
        self._kept: dict[Any, Tensor] = {}

    def like(self, x: Any) -> Tensor:
        """Return the numbers on the device, and in the type, of ``x``."""
        key = x.device, x.dtype
        if key not in self._kept:
            self._kept[key] = self.values.to(x.device, x.dtype)
        return self._kept[key]


class Scale:
    """The mean and deviation of each number ``(K,)`` of targets, by which they are scaled.

    Example:
        >>> scale = Scale.of(torch.tensor([[1.0, 5.0], [3.0, 5.0]]))
        >>> scale.to_dict()
        {'mean': [2.0, 5.0], 'std': [1.0, 1.0]}
        >>> scale.undo(torch.tensor([[1.0, 0.0]]))
        tensor([[3., 5.]])
    """

    def __init__(self, mean: Sequence[float] | Tensor, std: Sequence[float] | Tensor) -> None:
        self.mean, self.std = Constant(mean), Constant(std)

    @classmethod
    def of(cls, rows: Tensor) -> Scale:
        """Return the scale of some targets ``(M, K)``; what never changes is divided by one."""
        rows = rows.double()
        std = rows.std(0, correction=0)
        return cls(rows.mean(0), torch.where(std > 1e-12 * rows.abs().amax(0), std, 1.0))

    def apply(self, y: Tensor) -> Tensor:
        """Return scaled targets; in single precision, large numbers would lose their digits."""
        y = y if y.is_floating_point() else y.double()
        return (y - self.mean.like(y)) / self.std.like(y)

    def undo(self, output: Any) -> Any:
        """Return what a network says, a tensor or ragged, in the units of the targets."""
        if isinstance(output, RaggedSets):
            return output.map(self.undo)
        return output * self.std.like(output) + self.mean.like(output)

    def to_dict(self) -> dict[str, list[float]]:
        """Return the entry ``target`` of a card."""
        return {"mean": self.mean.values.tolist(), "std": self.std.values.tolist()}


def task_loss(task: str, *, weights: Constant | None = None, scale: Scale | None = None) -> Loss:
    """Return the loss of a task: a mean over sets.

    Args:
        task: One of the tasks of a :class:`~symsets.models.Card`.
        weights: Of classes; of the labels that are there.
        scale: Of the targets of a regression.
    """

    def classify(output: Tensor, y: Tensor) -> Tensor:
        y = y.long()
        if weights is None:
            return functional.cross_entropy(output, y)
        losses = functional.cross_entropy(output, y, reduction="none")
        return (losses * weights.like(output)[y]).mean()

    def labels(output: Tensor, y: Tensor) -> Tensor:
        positive = None if weights is None else weights.like(output)
        output, y = matched(output, y)
        return functional.binary_cross_entropy_with_logits(
            output, y.to(output.dtype), pos_weight=positive
        )

    def numbers(output: Sets, y: Sets) -> Tensor:
        def squares(a: Tensor, b: Tensor) -> Tensor:
            return (a - (scale.apply(b) if scale else b).to(a.dtype)).square()

        return _per_set(squares, output, y).mean()

    losses: dict[str, Loss] = {
        "classify": classify,
        "labels": labels,
        "regress": numbers,
        "select": lambda output, y: select_loss(output, y.long()),
        "score": numbers,
        "merge": lambda output, y: _absolute(None)(output, y).mean(),
    }
    return losses[task]


def task_metrics(task: str, kind: str, scale: Scale | None = None) -> tuple[Metric, ...]:
    """Return what a task reports; the first metric chooses the epoch to keep."""
    if task in ("classify", "select"):
        return (Metric("accuracy", lambda output, y: accuracy(output, y.long())),)
    if task == "labels":
        return (Metric("accuracy", _label_accuracy),)
    if task == "merge" and kind == "pictures":
        return (Metric("psnr", psnr(1.0)), Metric("mae", _absolute(None), False))
    return (Metric("mae", _absolute(scale), False),)


def _label_accuracy(output: Tensor, y: Tensor) -> Tensor:
    """Return the share of labels that are right, for each set."""
    output, y = matched(output, y)
    return ((output > 0) == (y > 0.5)).float().flatten(1).mean(1)


def _absolute(scale: Scale | None) -> Callable[[Sets, Sets], Tensor]:
    def error(output: Sets, y: Sets) -> Tensor:
        def differences(a: Tensor, b: Tensor) -> Tensor:
            if scale is None:
                return (a - b.to(a.dtype)).abs()
            return (scale.undo(a.double()) - b).abs().to(a.dtype)

        return _per_set(differences, output, y)

    return error


def _per_set(function: Callable[[Tensor, Tensor], Tensor], output: Sets, y: Sets) -> Tensor:
    """Return the mean of a function of all entries, for each set."""
    sets, y = matched(output, y)
    a, b = (v.elements if isinstance(v, RaggedSets) else v for v in (sets, y))
    values = function(a, b)
    values = values.flatten(1).mean(1) if values.ndim > 1 else values
    return pool(sets.with_elements(values), "mean") if isinstance(sets, RaggedSets) else values


def matched(output: Any, y: Any) -> tuple[Any, Any]:
    """Return outputs and targets of one shape; raise ValueError if they have none in common."""
    if isinstance(output, Tensor) and isinstance(y, Tensor):
        if output.shape == (*y.shape, 1):
            output = output.squeeze(-1)
        elif y.shape == (*output.shape, 1):
            y = y.squeeze(-1)
        if output.shape == y.shape:
            return output, y
    both_ragged = isinstance(output, RaggedSets) and isinstance(y, RaggedSets)
    if both_ragged and output.partition == y.partition and output.ndim == y.ndim:
        return output, y
    wanted, got = (tuple(v.shape) if isinstance(v, Tensor) else v for v in (y, output))
    raise ValueError(f"net must return as many numbers as the targets have, {wanted}, got {got}")
