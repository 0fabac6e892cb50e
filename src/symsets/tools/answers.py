"""What a network says about test sets, in words, and which of its answers are worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from symsets.models.card import Card
from symsets.sets import RaggedSets
from symsets.train import Prediction
from symsets.train.evaluation import Evaluation
from symsets.train.predicting import read_outputs


@dataclass(frozen=True)
class Answer:
    """What a network says about one set."""

    said: str
    truth: str
    right: bool | None  # None for numbers, which are never quite the same
    badness: float  # orders answers, the worst first
    chosen: tuple[int, ...] = ()  # the element that was selected
    scores: tuple[str, ...] = ()  # one word for each element


def said(answer: Prediction) -> str:
    """Return an answer in words.

    Example:
        >>> said(Prediction("a", label="cat", probabilities={"cat": 0.9, "dog": 0.1}))
        'cat (90%)'
    """
    if answer.label is not None:
        share = (answer.probabilities or {}).get(answer.label, 0.0)
        return f"{answer.label} ({share:.0%})"
    if answer.labels is not None:
        return ", ".join(map(str, answer.labels)) or "none"
    if answer.values is not None:
        named = {k: "" if isinstance(k, int) else f"{k} " for k in answer.values}
        return ", ".join(f"{named[k]}{value:.4g}" for k, value in answer.values.items())
    if answer.chosen is not None:
        return answer.elements[answer.chosen] if answer.elements else f"number {answer.chosen + 1}"
    if answer.scores is not None:
        return ", ".join(f"{score:.3g}" for score in answer.scores)
    return "a picture"


def answers(card: Card, found: Evaluation) -> list[Answer]:
    """Return the answers of a network to all test sets."""
    targets: Any = found.targets
    given = read_outputs(card, found.outputs, len(targets))
    rows = targets.to_list() if isinstance(targets, RaggedSets) else targets
    return [_judged(card, answer, row.cpu()) for answer, row in zip(given, rows, strict=True)]


def _judged(card: Card, answer: Prediction, target: Tensor) -> Answer:
    """Compare an answer with what is right."""
    found = answer.probabilities or answer.values
    numbers = torch.tensor(list(found.values()) if found else answer.scores)
    if card.task == "classify":
        truth = card.classes[int(target)]
        return Answer(said(answer), truth, answer.label == truth, 1 - float(numbers[target]))
    if card.task == "select":
        shares, best = numbers.softmax(0), int(target)
        words = tuple(f"{share:.0%}" for share in shares.tolist())
        right, chosen = answer.chosen == best, (int(answer.chosen or 0),)
        bad = 1 - float(shares[best])
        return Answer(said(answer), f"number {best + 1}", right, bad, chosen, words)
    away = (numbers - target.flatten()).abs()
    if card.task == "labels":
        there = tuple(name for name, yes in zip(card.classes, target, strict=True) if yes > 0.5)
        truth = ", ".join(there) or "none"
        return Answer(said(answer), truth, answer.labels == there, float(away.max()))
    if card.task == "regress":
        truth = ", ".join(f"{value:.4g}" for value in target.flatten().tolist())
        return Answer(said(answer), truth, None, float(away.mean()))
    pairs = zip(numbers.tolist(), target.tolist(), strict=True)
    words = tuple(f"{a:.3g} ({b:.3g})" for a, b in pairs)
    return Answer("numbers below", "in brackets", None, float(away.mean()), scores=words)


def worst(given: Sequence[Answer], num: int) -> list[int]:
    """Return the worst answers, those that are wrong first."""
    order = sorted(range(len(given)), key=lambda k: (given[k].right is True, -given[k].badness))
    wrong = [k for k in order if given[k].right is not True]
    return (wrong or order)[:num]
