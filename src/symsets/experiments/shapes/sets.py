"""Sets for finding the central frame: shuffled frames of a motion."""

from collections.abc import Iterable

import torch
from torch import Tensor

from symsets.data.on_the_fly import OnTheFlySets, random_orders
from symsets.experiments.shapes.motions import Motions

BLOCK = 256  # sets of a study of skips that are made at once


class CentralFrameSets(OnTheFlySets):
    r"""Shuffled frames of a motion; the target is the central one.

    A set has the frames :math:`s, s + k, \dots, s + (N - 1) k` of one sequence in random order;
    the target is the place of frame :math:`s + k (N - 1) / 2`. In training all starts :math:`s`
    in all sequences are equally likely each time, however few sets a pass has. For evaluation every
    set has a start of its own, as long as there are enough. Sequences that are too short for one
    set are left out; see :attr:`note`.

    Args:
        motions: Of one split.
        num_sets: Sets of one pass.
        skip: :math:`k`.
        num_frames: :math:`N`, odd.
        seed: Fixes the sets for evaluation.

    Attributes:
        starts: Where sets may start: rows of all shapes, ``(K,)``, in a random but fixed order.
        left_out: Names of the sequences that are too short.

    Shape:
        - sets: ``(B, N, 3, V)``.
        - targets: ``(B,)``.

    Example:
        >>> motions = Motions.join([torch.arange(20.0).reshape(20, 1, 1).expand(20, 3, 4)], ["a_b"])
        >>> x, target = CentralFrameSets(motions, num_sets=5, skip=2).part(0, 5)
        >>> x.shape, target.shape
        (torch.Size([5, 7, 3, 4]), torch.Size([5]))
        >>> bool((x[range(5), target] == x.median(1).values).all())
        True
    """

    def __init__(
        self,
        motions: Motions,
        num_sets: int,
        *,
        skip: int = 5,
        num_frames: int = 7,
        seed: int = 0,
    ) -> None:
        super().__init__(motions.shapes, num_sets, seed=seed)
        if num_frames < 1 or num_frames % 2 == 0:
            raise ValueError(f"num_frames must be odd to have a central one, got {num_frames}")
        self.skip, self.num_frames = skip, num_frames
        self.span = (num_frames - 1) * skip + 1
        room = (motions.lengths - self.span + 1).tolist()  # how many starts a sequence offers
        self.left_out = [name for name, num in zip(motions.names, room, strict=True) if num < 1]
        if len(self.left_out) == len(room):
            longest = int(motions.lengths.argmax())
            raise ValueError(
                f"sequence {motions.names[longest]!r} must have at least {self.span} frames for "
                f"{num_frames} at a skip of {skip}, got {int(motions.lengths[longest])}, and no "
                "other sequence is longer"
            )
        firsts = zip(motions.starts.tolist(), room, strict=True)
        starts = torch.cat([first + torch.arange(num) for first, num in firsts if num > 0])
        order = torch.randperm(len(starts), generator=torch.Generator().manual_seed(seed))
        self.starts = starts[order].to(self.device)

    @property
    def note(self) -> str:
        """One line that names the sequences left out, empty if there are none."""
        if not self.left_out:
            return ""
        named = ", ".join(self.left_out[:5]) + (", …" if len(self.left_out) > 5 else "")
        num = len(self.left_out)
        kind = f"sequence{'s' if num > 1 else ''} of fewer than {self.span} frames"
        return f"left out {num} {kind}: {named}"

    def make(
        self, which: Tensor, generator: torch.Generator | None, *, augment: bool
    ) -> tuple[Tensor, Tensor]:
        """Make the sets ``which (B,)`` and their targets; at random starts if ``augment``."""
        num = len(self.starts)
        order = random_orders(len(which), self.num_frames, which, generator)
        if augment:
            # rounding may turn a product just below their number into it
            place = (self.uniform(generator, len(which)) * num).long().clamp(max=num - 1)
        else:
            place = which % num
        return self.crop(self.starts[place], order)

    def crop(self, start: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
        """Make sets and targets of their starts ``(B,)`` and orders ``(B, N)``."""
        target = (order == self.num_frames // 2).int().argmax(1)
        return self.material[start[:, None] + self.skip * order], target


def mean_shape(x: Tensor) -> Tensor:
    r"""Select the shape that is closest to the mean of its set, vertex by vertex.

    .. math:: \operatorname{argmin}_i \Bigl\| x_i - \frac{1}{N} \sum_j x_j \Bigr\|_1

    Motion that is nearly straight and even makes this the central frame; it needs no training.

    Shape:
        - x: ``(B, N, 3, V)``.
        - output: ``(B,)``, the place of the chosen shape.

    Example:
        >>> mean_shape(torch.tensor([0.0, 5.0, 2.0]).reshape(1, 3, 1, 1).expand(1, 3, 3, 8))
        tensor([2])
    """
    return (x - x.mean(1, keepdim=True)).abs().sum((2, 3)).argmin(1)


def skip_study(motions: Motions, skips: Iterable[int] = (1, 3, 5, 10)) -> dict[int, float]:
    """Measure how often the mean shape is right, at several distances between frames.

    Every possible start is used once, so there is nothing random.

    Example:
        >>> steady = torch.arange(40.0).reshape(40, 1, 1).expand(40, 3, 4)
        >>> skip_study(Motions.join([steady], ["a_b"]), skips=(1, 5))
        {1: 1.0, 5: 1.0}
    """
    accuracies = {}
    for skip in skips:
        frames = CentralFrameSets(motions, 1, skip=skip)
        order = torch.arange(frames.num_frames, device=frames.device)
        right = torch.zeros((), dtype=torch.long, device=frames.device)
        for start in frames.starts.split(BLOCK):
            x, target = frames.crop(start, order.expand(len(start), -1))
            right += (mean_shape(x) == target).sum()
        accuracies[skip] = int(right) / len(frames.starts)
    return accuracies
