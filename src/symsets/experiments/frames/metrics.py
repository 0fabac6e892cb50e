"""What is measured on shuffled frames: which came first, and whether only direction was missed.

Targets are ``ends (B, 2)``: where the first and the last frame of each sequence are in its set.
"""

from torch import Tensor
from torch.nn.functional import cross_entropy

from symsets.train.metrics import Metric, Task, accuracy


def loss(output: Tensor, ends: Tensor) -> Tensor:
    """Return the cross-entropy of the first frame."""
    return cross_entropy(output, ends[:, 0])


def first(output: Tensor, ends: Tensor) -> Tensor:
    """Tell for each set whether the first frame was selected."""
    return accuracy(output, ends[:, 0])


def up_to_reversal(output: Tensor, ends: Tensor) -> Tensor:
    """Tell for each set whether one of the two ends was selected.

    Example:
        >>> import torch
        >>> ends = torch.tensor([[0, 2], [0, 2]])
        >>> up_to_reversal(torch.tensor([[0.0, 1.0, 2.0], [0.0, 2.0, 1.0]]), ends)
        tensor([1., 0.])
    """
    return accuracy(output, ends[:, 0]) + accuracy(output, ends[:, 1])


def among_two(output: Tensor, ends: Tensor) -> Tensor:
    """Tell for each set whether the first frame has one of the two highest scores.

    Of frames that share a score, those that count are as good as drawn by lot.

    Example:
        >>> import torch
        >>> among_two(torch.tensor([[2.0, 1.0, 1.0]]), torch.tensor([[1, 0]]))
        tensor([0.5000])
    """
    own = output.gather(1, ends[:, :1])  # (B, 1)
    higher, equal = (output > own).sum(1), (output == own).sum(1)
    # A score that is no number equals nothing, and selects nothing.
    return ((2 - higher) / equal.clamp(min=1)).clamp(0, 1) * (equal > 0)


def farthest_from_mean(x: Tensor) -> Tensor:
    """Score every frame by its distance to the mean of its set, ``(B, N)``.

    In a steady motion the two ends are farthest from the mean. Which of them came first it cannot
    tell, so what a network gains over this baseline is mostly the direction of time.

    Example:
        >>> import torch
        >>> x = torch.tensor([0.0, 1.0, 5.0]).reshape(1, 3, 1, 1, 1)
        >>> farthest_from_mean(x)
        tensor([[4., 1., 9.]])
    """
    return (x - x.mean(1, keepdim=True)).square().flatten(2).mean(2)


TASK = Task(
    loss,
    (
        Metric("accuracy", first),
        Metric("top2-accuracy", among_two),
        Metric("undirected-accuracy", up_to_reversal),
    ),
)
