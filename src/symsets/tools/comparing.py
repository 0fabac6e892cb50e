"""What networks and the trivial answer reach on sets, side by side, with the error of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from symsets.models.card import Card
from symsets.pages import Cell, Table, duration
from symsets.pages.styles import style_of
from symsets.sets import RaggedSets, Sets, pool
from symsets.train.defaults import Scale, task_loss, task_metrics
from symsets.train.evaluation import Evaluation, evaluate
from symsets.train.inputs import as_sets
from symsets.train.metrics import Task

SHARES = ("accuracy",)  # metrics that people read in per cent


@dataclass(frozen=True)
class Score:
    """A mean over sets, and its standard error (0 for a single set)."""

    mean: float
    error: float
    num: int

    @classmethod
    def of(cls, found: Evaluation, metric: str) -> Score:
        """Return the score of one metric."""
        values = found.values[metric].double()
        num = len(values)
        error = values.std().item() / math.sqrt(num) if num > 1 else 0.0
        return cls(values.mean().item(), error, num)


def task_of(card: Card) -> Task:
    """Return what a card asks for: its loss and metrics, in the units of the targets."""
    scale = Scale(**card.target) if card.target else None
    return Task(
        task_loss(card.task, scale=scale),
        task_metrics(card.task, card.kind, scale),
        keep_outputs=card.task != "merge",
    )


def measure(
    network: Any, card: Card, sets: Any, *, device: str, workers: int | None = None
) -> Evaluation:
    """Apply a network, or a trivial answer, to all sets."""
    stream = as_sets("sets", sets, workers=workers, seed=0, dtype=torch.float32)
    [found] = evaluate(network, stream.to(device), task_of(card), batch_size=32)
    return found


@dataclass(frozen=True)
class Outcome:
    """What a network, or the trivial answer, reached."""

    name: str  # the scheme, or what the trivial answer is
    val: Score
    loss: float  # on validation sets
    test: Score
    found: Evaluation  # what it says about the test sets
    network: Any = None  # None for the trivial answer
    seconds: float = 0.0  # of training


def outcome(name: str, network: Any, card: Card, val: Any, test: Any, **options: Any) -> Outcome:
    """Measure a network, or a function that gives the trivial answer, on both kinds of sets.

    Further options are those of :func:`measure`.
    """
    metric = task_of(card).metric.name
    on_val, on_test = (measure(network, card, sets, **options) for sets in (val, test))
    history = getattr(network, "history", None)
    return Outcome(
        name,
        Score.of(on_val, metric),
        on_val.loss,
        Score.of(on_test, metric),
        on_test,
        None if history is None else network,
        sum(row["seconds"] for row in history or ()),
    )


def best_of(outcomes: Sequence[Outcome], card: Card) -> int:
    """Return which network validation likes best; of equal ones, that of the smallest loss."""
    sign = 1 if task_of(card).metric.larger_is_better else -1
    return max(range(len(outcomes)), key=lambda k: (sign * outcomes[k].val.mean, -outcomes[k].loss))


def results_table(outcomes: Sequence[Outcome], card: Card, best: int) -> Table:
    """Return validation and test results; the network that validation likes best is marked."""
    metric = task_of(card).metric
    rows = []
    for k, one in enumerate(outcomes):
        trained = one.network is not None
        num = sum(p.numel() for p in one.network.parameters()) if trained else 0
        rows.append(
            (
                Cell(style_of(one.name).label),
                Cell(shown_score(one.val, metric.name), best=k == best),
                Cell(shown_score(one.test, metric.name), best=k == best),
                Cell(f"{num:,}" if trained else "–"),
                Cell(duration(one.seconds) if trained else "–"),
            )
        )
    way = "larger" if metric.larger_is_better else "smaller"
    unit = " in per cent" if metric.name in SHARES else ""
    return Table(
        "Results",
        f"{metric.name}{unit}, {way} is better, ± standard error over "
        f"{outcomes[0].val.num} validation and {outcomes[0].test.num} test sets. Of each training "
        "the epoch with the lowest validation loss. Bold: the network that is kept, chosen by "
        "validation.",
        ("network", "validation", "test", "parameters", "time per run"),
        tuple(rows),
    )


def shown_score(score: Score, metric: str) -> str:
    """Return a score with its error, in per cent where people expect that.

    Example:
        >>> shown_score(Score(0.975, 0.0049, 1000), "accuracy")
        '97.5 ± 0.5'
    """
    scale = 100 if metric in SHARES else 1
    digits = 1 if metric in (*SHARES, "psnr") else 3
    return f"{scale * score.mean:.{digits}f} ± {scale * score.error:.{digits}f}"


def headline(outcomes: Sequence[Outcome], card: Card, best: int) -> str:
    """Say in a sentence how the kept network compares with the trivial answer and with Siamese."""
    metric = task_of(card).metric.name
    chosen, trivial = outcomes[best], outcomes[-1]
    sentence = (
        f"{style_of(chosen.name).label} reaches {shown_score(chosen.test, metric)}"
        f"{' %' if metric in SHARES else ''} {metric} on {chosen.test.num} test sets"
    )
    for one in outcomes[:-1]:
        if one.name == "siamese" and one is not chosen:
            reached = shown_score(one.test, metric)
            sentence += f"; Siamese, whose elements meet only at the end, {reached}"
    sentence += f"; the trivial answer ({trivial.name}) {shown_score(trivial.test, metric)}."
    sign = 1 if task_of(card).metric.larger_is_better else -1
    if sign * chosen.test.mean > sign * trivial.test.mean:
        return sentence
    rare = ", or weigh rare classes up (--balanced)" if card.task == "classify" else ""
    return f"{sentence} That is no better: train for longer, on more sets{rare}."


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
