"""What is measured on validation and test sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

__all__ = ["ACCURACY", "Metric", "accuracy"]


@dataclass(frozen=True)
class Metric:
    """A number that tells how good outputs are.

    Args:
        name: As in ``results.json``.
        function: Of a network's outputs and their targets.
        larger_is_better: Which way is up.

    Example:
        >>> import torch
        >>> ACCURACY(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([1, 1]))
        0.5
        >>> ACCURACY.is_better(0.9, 0.5), Metric("mae", accuracy, False).is_better(0.9, 0.5)
        (True, False)
    """

    name: str
    function: Callable[[Tensor, Tensor], float]
    larger_is_better: bool = True

    def __call__(self, output: Tensor, target: Tensor) -> float:
        """Return the metric."""
        return self.function(output, target)

    def is_better(self, value: float, than: float | None) -> bool:
        """Whether a value beats another one; any value beats none."""
        if than is None:
            return value == value
        return value > than if self.larger_is_better else value < than


def accuracy(output: Tensor, target: Tensor) -> float:
    """Return the share of right labels."""
    return (output.argmax(1) == target).double().mean().item()


ACCURACY = Metric("accuracy", accuracy)
