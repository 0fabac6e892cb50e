"""Losses whose targets are elements of a set."""

import torch
from torch import Tensor
from torch.nn import functional

from symsets._checks import check_choice, shown
from symsets.sets import RaggedSets, Sets, pool, spread
from symsets.sets.ragged import common_rows


def select_loss(scores: Sets, target: Tensor, *, reduction: str = "mean") -> Tensor:
    r"""Return the cross entropy of selecting the right element of every set.

    .. math:: -\log \frac{\exp s_t}{\sum_j \exp s_j}

    Args:
        scores: One score per element, as :class:`symsets.nn.Select` returns them.
        target: The index of the right element inside its set.
        reduction: ``"mean"`` over the batch, ``"sum"``, or ``"none"``.

    Shape:
        - scores: ``(B, N)``, or ragged with elements ``(T,)``; no set may be empty.
        - target: ``(B,)`` integers.
        - output: a number, or ``(B,)`` for ``reduction="none"``; float32 for scores in half
          precision.

    Example:
        >>> loss = select_loss(RaggedSets(torch.zeros(6), [2, 4]), torch.tensor([1, 3]))
        >>> torch.isclose(loss.exp(), torch.tensor(8.0).sqrt())
        tensor(True)
    """
    check_choice("reduction", reduction, ("mean", "sum", "none"))
    if scores.ndim != 2:
        raise ValueError("scores must be (B, N), or ragged with one number per element")
    if len(scores) == 0 and reduction == "mean":
        raise ValueError("scores must hold at least one set, got none to take the mean of")
    _check_target(target, scores)
    if scores.dtype in (torch.float16, torch.bfloat16):  # sums need digits, as under autocast
        scores = scores.to(torch.float32)
    if isinstance(scores, Tensor):
        return functional.cross_entropy(scores, target.long(), reduction=reduction)
    losses = _ragged_losses(scores, target)
    return losses if reduction == "none" else getattr(losses, reduction)()


def _check_target(target: Tensor, scores: Sets) -> None:
    wrong = target.is_floating_point() or target.dtype == torch.bool
    if wrong or target.shape != (len(scores),):
        raise ValueError(
            f"target must be {len(scores)} integers, one per set, "
            f"got {target.dtype} of shape {tuple(target.shape)}"
        )
    if isinstance(scores, RaggedSets):
        counts = scores.partition.counts
    else:
        counts = (scores.shape[1],) * len(scores)
    if 0 in counts:
        raise ValueError("scores must not hold empty sets: there is nothing to select")
    # On a device the check would make the host wait; there a wrong index fails in the gather, or
    # makes the loss NaN.
    if torch.compiler.is_compiling() or target.device.type != "cpu":
        return
    try:
        numbers = target.tolist()
    except RuntimeError:  # under vmap, a tensor stands for those of several networks
        return
    if any(not 0 <= t < n for t, n in zip(numbers, counts, strict=True)):
        raise ValueError(
            f"target must index into its set, got {shown(numbers)} for sizes {shown(counts)}"
        )


def _ragged_losses(scores: RaggedSets, target: Tensor) -> Tensor:
    first = scores.partition.offsets[:-1]
    inside = (target >= 0) & (target < scores.partition.sizes)  # beyond it lies the next set
    chosen = common_rows(scores)[torch.where(inside, first + target, first)]
    return _logsumexp(scores) - torch.where(inside, chosen, torch.nan)


def _logsumexp(scores: RaggedSets) -> Tensor:
    top = pool(scores, "max").detach()
    shifted = scores.with_elements(torch.exp(common_rows(scores) - spread(top, scores)))
    return top + pool(shifted, "sum").log()
