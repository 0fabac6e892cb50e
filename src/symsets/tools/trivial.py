"""Answers that need no network, to compare networks with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from symsets.models.card import Card
from symsets.sets import RaggedSets, Sets, pool


def trivial_answer(card: Card, targets: Tensor | None) -> tuple[str, Callable[[Sets], Any]]:
    """Return what somebody would say who never looked at a set, and its name.

    It has the form of a network's output: the most frequent class, the more frequent side of each
    label, the mean of a regression (zero, since targets are scaled), equal scores for all elements,
    or, for merging, the mean of the set.

    Args:
        card: What is asked.
        targets: Of the training sets.

    Example:
        >>> card = Card("classify", "vectors", classes=("a", "b"))
        >>> name, answer = trivial_answer(card, torch.tensor([0, 1, 1]))
        >>> name, answer(torch.zeros(2, 5, 3))
        ('most frequent class', tensor([[0., 1.],
                [0., 1.]]))
    """
    if card.task == "classify":
        assert targets is not None
        counts = torch.bincount(targets.long(), minlength=len(card.classes))
        return "most frequent class", _constant((counts == counts.max()).float())
    if card.task == "labels":
        assert targets is not None
        return "more frequent value", _constant((targets.float().mean(0) > 0.5).float() - 0.5)
    if card.task == "regress":
        return "mean of the training sets", _constant(torch.zeros(len(card.classes) or 1))
    if card.task == "select":
        return "random choice", _equal_scores
    if card.task == "score":
        return "mean of the training sets", _equal_scores
    return "mean of the set", lambda x: pool(x, "mean")


def _constant(row: Tensor) -> Callable[[Sets], Tensor]:
    return lambda x: row.to(x.device).expand(len(x), *row.shape)


def _equal_scores(x: Sets) -> Sets:
    if isinstance(x, RaggedSets):
        rows = torch.zeros(x.partition.total, device=x.device)
        return x.with_elements(rows)
    return torch.zeros(x.shape[:2], device=x.device)
