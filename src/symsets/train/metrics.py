"""What is learnt and what is measured: losses and metrics of a task."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from symsets._checks import check_choice, check_number, shown
from symsets.sets import RaggedSets, Sets, pool, spread
from symsets.sets.partition import Partition

PICTURES = "floating-point pictures (B, …) of one shape, with entries"
Loss = Callable[[Any, Any], Tensor]
"""Of outputs and targets: one number."""


@dataclass(frozen=True)
class Metric:
    """A number that tells how good outputs are, the mean of one value per set.

    Args:
        name: As in ``results.json``; ``"loss"`` is taken by the loss.
        function: Gives the values ``(B,)`` of a network's outputs and their targets.
        larger_is_better: Which way is up.

    Example:
        >>> import torch
        >>> ACCURACY(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([1, 1]))
        0.5
        >>> ACCURACY.is_better(0.9, 0.5), Metric("mae", accuracy, False).is_better(0.9, 0.5)
        (True, False)
    """

    name: str
    function: Callable[[Any, Any], Tensor]
    larger_is_better: bool = True

    def __post_init__(self) -> None:
        if self.name == "loss":
            raise ValueError("name must not be 'loss', under which the loss itself is recorded")
        if not callable(self.function):
            raise TypeError(f"function must take (output, target), got {shown(self.function)}")

    def __call__(self, output: Sets, target: Any) -> float:
        """Return the metric."""
        values = self.values(output, target)
        if len(values) == 0:
            raise ValueError(f"output must hold at least one set for {self.name!r}, got none")
        return values.double().mean().item()

    def values(self, output: Sets, target: Any) -> Tensor:
        """Return the metric of each set, ``(B,)``."""
        values = self.function(output, target)
        if not isinstance(values, Tensor) or values.shape != (len(output),):
            found = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
            raise ValueError(
                f"metric {self.name!r} must return one value for each set, got {found}"
            )
        return values

    def is_better(self, value: float, than: float | None) -> bool:
        """Whether a value beats another one; any value beats none."""
        if than is None:
            return value == value
        return value > than if self.larger_is_better else value < than


@dataclass(frozen=True)
class Task:
    """What a network is to learn.

    Args:
        loss: To make small.
        metrics: To report; the first chooses the epoch to keep.
        keep_outputs: Whether outputs are small enough to be kept for every test set.
    """

    loss: Loss
    metrics: tuple[Metric, ...]
    keep_outputs: bool = True

    def __post_init__(self) -> None:
        if not callable(self.loss):
            raise TypeError(f"loss must be a function, got {shown(self.loss)}")
        given = self.metrics if isinstance(self.metrics, Sequence) else ()
        if not given or not all(isinstance(metric, Metric) for metric in given):
            raise TypeError(f"metrics must be a tuple of metrics, got {shown(self.metrics)}")
        check_choice("keep_outputs", self.keep_outputs, (True, False))
        names = [metric.name for metric in self.metrics]
        if len(set(names)) < len(names):
            raise ValueError(f"metrics must have different names, got {names}")

    @property
    def metric(self) -> Metric:
        """The metric that decides."""
        return self.metrics[0]


def _compares(
    wanted: str, fits: Callable[[Any, Any], bool]
) -> Callable[[Loss], Callable[[Any, Any], Tensor]]:
    """Refuse outputs and targets that do not fit, which torch might broadcast to each other."""

    def decorate(function: Loss) -> Callable[[Any, Any], Tensor]:
        @wraps(function)
        def checked(output: Any, target: Any) -> Tensor:
            cause = None
            try:
                if fits(output, target):
                    return function(output, target)
            except torch.OutOfMemoryError:
                raise
            except Exception as error:
                cause = error
            got = f"{shown(output)} and {shown(target)}"
            raise ValueError(f"output and target must be {wanted}, got {got}") from cause

        return checked

    return decorate


def _are_pictures(output: Tensor, target: Tensor, *, axes: int = 2, side: int = 1) -> bool:
    floats = output.is_floating_point() and target.is_floating_point()
    alike = output.shape == target.shape and output.ndim >= axes
    return floats and alike and min(output.shape[max(axes - 2, 1) :]) >= side


def _are_scores(output: Sets, target: Tensor) -> bool:
    whole = not (target.is_floating_point() or target.is_complex() or target.dtype == torch.bool)
    real = not output.dtype.is_complex
    return real and whole and output.ndim == 2 and target.shape == (len(output),)


@_compares("scores (B, N) and B integers below N, the places of what is right", _are_scores)
def accuracy(output: Sets, target: Tensor) -> Tensor:
    """Tell for each set whether its label, or the element that was selected, is right.

    Where several share the top score, one of them is as good as drawn by lot. Nothing is selected
    in an empty set, so its selection is never right.

    Example:
        >>> accuracy(torch.tensor([[2.0, 2.0, 1.0]]), torch.tensor([1]))
        tensor([0.5000])
        >>> accuracy(RaggedSets(torch.tensor([1.0, 5.0, 2.0]), [2, 1]), torch.tensor([0, 0]))
        tensor([0., 1.])
    """
    if isinstance(output, RaggedSets):
        tops = output.map(lambda rows: (rows == spread(pool(output, "max"), output)).float())
        # Not tops.elements[starts + target], which may lie in another set.
        right = pool(tops.map(lambda rows: rows * _is_target(target, output.partition)), "sum")
        return right / pool(tops, "sum").clamp(min=1)
    if not output.shape[1]:
        return output.new_zeros(len(output))
    top = output == output.amax(1, keepdim=True)
    right = top.gather(1, target.unsqueeze(1)).squeeze(1)
    return right / top.sum(1).clamp(min=1)  # scores that are no numbers select nothing


def _is_target(target: Tensor, partition: Partition) -> Tensor:
    """Tell for each row ``(T,)`` whether its place in its set is the target of the set."""
    rows = torch.arange(partition.total, device=target.device)
    return rows == (partition.offsets[:-1] + target)[partition.index]


def mean_absolute_error(levels: float) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the error of pictures in grey levels, where a step of 1 is ``levels`` of them."""
    check_number("levels", levels, zero=False)

    @_compares(PICTURES, _are_pictures)
    def error(output: Tensor, target: Tensor) -> Tensor:
        return levels * (output - target).abs().flatten(1).mean(1)

    return error


def psnr(span: float) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the signal-to-noise ratio of pictures in decibels, whose values span ``span``."""
    check_number("span", span, zero=False)

    @_compares(PICTURES, _are_pictures)
    def ratio(output: Tensor, target: Tensor) -> Tensor:
        error = (output - target).square().flatten(1).mean(1)
        return 10 * torch.log10(span**2 / error.clamp(min=1e-12))

    return ratio


def ssim(span: float, *, low: float = 0.0) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the structural similarity of pictures ``(B, C, H, W)``.

    It is the mean over all places where the window of 11 pixels lies inside the picture, as Wang
    et al. (2004) define it; versions of torchmetrics differ in what they do at the borders. It
    compares brightness by ratios, so it must know where black is.

    Args:
        span: From black to white.
        low: The value of black.
    """
    check_number("span", span, zero=False)
    check_number("the size of low", abs(low))

    @_compares(
        "floating-point pictures (B, C, H, W) of one shape, of 11 pixels or more on each side",
        lambda output, target: output.ndim == 4 and _are_pictures(output, target, axes=4, side=11),
    )
    def similarity(output: Tensor, target: Tensor) -> Tensor:
        from torchmetrics.functional.image import structural_similarity_index_measure

        if len(output) == 0:
            return output.new_zeros(0)
        _, places = structural_similarity_index_measure(
            output - low, target - low, data_range=span, reduction="none", return_full_image=True
        )
        return places[..., 5:-5, 5:-5].flatten(1).mean(1)

    return similarity


ACCURACY = Metric("accuracy", accuracy)
