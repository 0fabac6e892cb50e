"""Losses and metrics of queries whose scores are (B, Q, K)."""

from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot

from symsets.train.metrics import Metric, Task


def query_loss(output: Tensor, target: Tensor) -> Tensor:
    """Return the mean cross-entropy of all queries."""
    return cross_entropy(output.flatten(0, 1), target.flatten())


def query_accuracy(output: Tensor, target: Tensor) -> Tensor:
    """Return the share of queries of each table whose class has the highest score, ``(B,)``."""
    return (output.argmax(2) == target).to(output.dtype).mean(1)


def area_under_curve(output: Tensor, target: Tensor) -> Tensor:
    r"""Return the area under the ROC curve of each table, ``(B,)``.

    It is the chance that a query of class k has a higher probability of k than one of another
    class, where ties count one half; the mean over all classes that some query has, and another
    has not. A table whose queries are all of one class has 0.5.

    Example:
        >>> import torch
        >>> scores = torch.tensor([[[2.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]])
        >>> area_under_curve(scores, torch.tensor([[0, 0, 1, 0]]))
        tensor([1.])
    """
    chance = output.double().softmax(2).transpose(1, 2)  # (B, K, Q)
    own = one_hot(target, output.shape[2]).transpose(1, 2).double()
    gap = chance.unsqueeze(3) - chance.unsqueeze(2)  # (B, K, Q, Q)
    wins = (gap.sign() + 1) / 2
    pairs = own.unsqueeze(3) * (1 - own).unsqueeze(2)
    counts = pairs.sum((2, 3))  # (B, K)
    areas = (wins * pairs).sum((2, 3)) / counts.clamp(min=1)
    some = counts > 0
    mean = (areas * some).sum(1) / some.sum(1).clamp(min=1)
    return mean.where(some.any(1), 0.5).float()


IN_CONTEXT = Task(
    query_loss,
    (Metric("auc", area_under_curve), Metric("accuracy", query_accuracy)),
    keep_outputs=False,
)
