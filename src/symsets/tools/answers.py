"""What a network says about test sets, in words, and which of its answers are worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from symsets.models.card import Card
from symsets.sets import RaggedSets, Sets
from symsets.train.defaults import Scale
from symsets.train.evaluation import Evaluation


@dataclass(frozen=True)
class Answer:
    """What a network says about one set.

    Attributes:
        said: Its answer.
        truth: What is right.
        right: Whether they are the same; None for numbers, which are never quite the same.
        badness: Orders answers, the worst first.
        chosen: The element that was selected, and the one that should have been.
        scores: One word for each element.
    """

    said: str
    truth: str
    right: bool | None
    badness: float
    chosen: tuple[int, ...] = ()
    scores: tuple[str, ...] = field(default=())

    @property
    def lines(self) -> list[str]:
        """The answer beside a picture of the set."""
        return [f"right: {self.truth}", f"says: {self.said}"]


def answers(card: Card, found: Evaluation) -> list[Answer]:
    """Return the answers of a network to all test sets."""
    outputs, targets = _rows(found.outputs), _rows(found.targets)
    make = {
        "classify": _label,
        "labels": _labels,
        "regress": _numbers,
        "select": _choice,
        "score": _scores,
    }[card.task]
    return [make(card, out, true) for out, true in zip(outputs, targets, strict=True)]


def in_units(card: Card, outputs: Sets) -> Sets:
    """Return numbers in the units of the targets."""
    if not card.target:
        return outputs
    undo = Scale(**card.target).undo
    return outputs.map(undo) if isinstance(outputs, RaggedSets) else undo(outputs)


def _rows(values: Any) -> list[Tensor]:
    moved = values.cpu()
    return moved.to_list() if isinstance(moved, RaggedSets) else list(moved)


def _label(card: Card, output: Tensor, target: Tensor) -> Answer:
    shares = output.softmax(0)
    best, wanted = int(shares.argmax()), int(target)
    said = f"{card.classes[best]} ({shares[best]:.0%})"
    return Answer(said, card.classes[wanted], best == wanted, 1 - float(shares[wanted]))


def _labels(card: Card, output: Tensor, target: Tensor) -> Answer:
    shares = output.sigmoid()
    said, truth = (_listed(card.classes, values > 0.5) for values in (shares, target))
    right = bool(((shares > 0.5) == (target > 0.5)).all())
    return Answer(said, truth, right, float((shares - target).abs().max()))


def _listed(names: Sequence[str], there: Tensor) -> str:
    return ", ".join(name for name, yes in zip(names, there.tolist(), strict=True) if yes) or "none"


def _numbers(card: Card, output: Tensor, target: Tensor) -> Answer:
    value = in_units(card, output[None])
    assert isinstance(value, Tensor)
    error = float((value[0].flatten() - target.flatten()).abs().mean())
    return Answer(_joined(value[0]), _joined(target), None, error)


def _joined(values: Tensor) -> str:
    return ", ".join(f"{value:.4g}" for value in values.flatten().tolist())


def _choice(card: Card, output: Tensor, target: Tensor) -> Answer:
    shares = output.softmax(0)
    best, wanted = int(shares.argmax()), int(target)
    words = tuple(f"{share:.0%}" for share in shares.tolist())
    return Answer(
        f"number {best + 1}", f"number {wanted + 1}", best == wanted, 1 - float(shares[wanted]),
        chosen=(best,), scores=words,
    )  # fmt: skip


def _scores(card: Card, output: Tensor, target: Tensor) -> Answer:
    value = in_units(card, output[None])
    assert isinstance(value, Tensor)
    pairs = zip(value[0].tolist(), target.tolist(), strict=True)
    words = tuple(f"{a:.3g} ({b:.3g})" for a, b in pairs)
    error = float((value[0] - target).abs().mean())
    return Answer("numbers below", "in brackets", None, error, scores=words)


def worst(given: Sequence[Answer], num: int) -> list[int]:
    """Return the worst answers, those that are wrong first."""
    order = sorted(range(len(given)), key=lambda k: (given[k].right is True, -given[k].badness))
    wrong = [k for k in order if given[k].right is not True]
    return (wrong or order)[:num]
