"""How networks are trained: everything that decides the numbers but the data and the seeds."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from symsets._checks import check_choice, check_number, positive
from symsets.train.step import PRECISIONS

KEEP = ("metric", "loss")
SCHEDULES = ("constant", "cosine", "staircase")
WARM_UP = 0.1  # of all steps, for the cosine schedule


@dataclass(frozen=True)
class Plan:
    """Settings of a training run.

    Args:
        epochs: At most so many passes over the training sets.
        batch_size: Sets in a step; a last incomplete batch is left out.
        learning_rate: The largest one of the schedule.
        schedule: ``"constant"``; ``"cosine"``: a short rise, then a cosine down to zero; or
            ``"staircase"``: a factor ``decay`` after every ``decay_every`` epochs.
        keep: Which number of the validation chooses the epoch to keep: ``"metric"``, the first one
            of the task, or ``"loss"``, which tells more where there are few validation sets.
        patience: Stop after so many epochs without a better one.
        weight_decay: Decoupled from the gradient.
        average: Validate and keep a running average of the weights, of which each step keeps this
            share; 0 keeps the weights themselves.
        precision: ``"float32"``, ``"tf32"``, ``"bfloat16"``, ``"float16"`` or ``"float64"``.
        validate_every: Epochs between validations; it divides ``epochs``.
        clip: Shorten gradients that are longer than this, as one vector over all weights; 0 leaves
            them as they are.
        decay: What the schedule ``"staircase"`` multiplies the learning rate by.
        decay_every: Epochs after which it does.
        evaluation_batch: Sets that are evaluated at a time; it decides no number, if the loss is a
            mean over sets.
    """

    epochs: int
    batch_size: int = 64
    learning_rate: float = 1e-3
    schedule: str = "cosine"
    patience: int = 1000
    keep: str = "metric"
    weight_decay: float = 0.0
    average: float = 0.0
    precision: str = "float32"
    validate_every: int = 1
    clip: float = 0.0
    decay: float = 1.0
    decay_every: int = 1
    evaluation_batch: int = 512

    def __post_init__(self) -> None:
        check_choice("schedule", self.schedule, SCHEDULES)
        check_choice("precision", self.precision, PRECISIONS)
        check_choice("keep", self.keep, KEEP)
        counts = "epochs batch_size patience validate_every decay_every evaluation_batch"
        for name in counts.split():
            positive(name, getattr(self, name))
        if isinstance(self.average, int | float) and not 0 <= self.average < 1:
            raise ValueError(f"average must be at least 0 and below 1, got {self.average}")
        for name in ("learning_rate", "weight_decay", "average", "clip", "decay"):
            check_number(name, getattr(self, name), zero=name not in ("learning_rate", "decay"))
        if self.epochs % self.validate_every:
            raise ValueError(f"validate_every must divide epochs, got {self.validate_every}")

    def steps_per_epoch(self, train_size: int) -> int:
        """Return the number of steps in an epoch."""
        return max(1, positive("train_size", train_size) // self.batch_size)

    def rates(self, epoch: int, steps: int) -> Tensor:
        """Return the learning rate of every step of an epoch, ``(S,)``."""
        if self.schedule == "constant":
            return torch.full((steps,), self.learning_rate)
        if self.schedule == "staircase":
            rate = self.learning_rate * self.decay ** (epoch // self.decay_every)
            return torch.full((steps,), rate)
        done = (epoch * steps + torch.arange(steps) + 0.5) / (self.epochs * steps)
        rise = (done / WARM_UP).clamp(max=1)
        return self.learning_rate * rise * 0.5 * (1 + torch.cos(math.pi * done))

    def order(self, train_size: int, epoch: int, seed: int) -> Tensor:
        """Return which sets each step of an epoch sees, ``(S, batch)``; fixed by seed and epoch."""
        generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)
        batch, steps = min(self.batch_size, train_size), self.steps_per_epoch(train_size)
        return torch.randperm(train_size, generator=generator)[: steps * batch].reshape(-1, batch)
