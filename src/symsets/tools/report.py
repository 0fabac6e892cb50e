"""The page about networks that were trained on a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import torch

from symsets._modes import evaluating
from symsets.data.set_folder import SetFolder
from symsets.models.card import Card
from symsets.pages import Cell, Picture, Table, write_page
from symsets.sets import pool
from symsets.tools.answers import answers, worst
from symsets.tools.comparing import Outcome, task_of
from symsets.tools.figures import ShownSet, confusion, curves, ranks, scatter, sheet, short
from symsets.train.defaults import Scale

SHOWN = 8  # sets on a sheet
QUESTIONS = {
    "classify": "Which class is a set?",
    "labels": "Which labels does a set have?",
    "regress": "Which number belongs to a set?",
    "select": "Which element of a set is the best?",
    "score": "Which number belongs to each element?",
    "merge": "What picture do all elements of a set show together?",
}


@dataclass(frozen=True)
class Section:
    """A part of a page."""

    title: str
    text: str = ""
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    code: Sequence[str] = ()


def write_report(
    path: Path,
    parts: Sequence[SetFolder],
    outcomes: Sequence[Outcome],
    best: int,
    table: Table,
    headline: str,
) -> Path:
    """Write a page: results, curves, what went wrong, and how to use the network.

    ``parts`` are the sets to train, to validate and to test; ``best`` is the number of the network
    that is kept.
    """
    test, chosen = parts[2], outcomes[best]
    sizes = [size for part in parts for size in part.sizes]
    card = chosen.network.card
    trained = {one.name: one.network.history for one in outcomes if one.network is not None}
    figures = [*curves(trained, task_of(card).metric.name), *_figures(card, chosen)]
    sections = [
        Section("Results", tables=[table], pictures=figures),
        _what_went_wrong(card, chosen, test),
        Section(
            "Use the network",
            "It is kept with its classes and with how its elements were prepared.",
            code=[_usage(path.parent)],
        ),
    ]
    content = {
        "command": "train",
        "title": test.root.resolve().name,
        "asked": QUESTIONS[card.task],
        "headlines": [headline],
        "facts": {
            "training sets": len(parts[0]),
            "validation sets": len(parts[1]),
            "test sets": len(parts[2]),
            "elements of a set": "–".join(map(str, sorted({min(sizes), max(sizes)}))),
        },
        "sections": sections,
        "skipped": test.skipped,
    }
    write_page(path, Path(__file__).with_name("page.html"), content)
    return path


def _figures(card: Card, chosen: Outcome) -> list[Picture]:
    """Draw all answers of the kept network at once."""
    outputs, targets = chosen.found.outputs, chosen.found.targets
    if card.task == "merge" or outputs is None or targets is None:
        return []
    outputs, targets = outputs.cpu(), targets.cpu()
    if card.task == "classify":
        drawn = confusion(outputs, targets, card.classes)
        return [] if drawn is None else [drawn]
    if card.task == "select":
        return [ranks(outputs, targets)]
    if card.task in ("regress", "score"):
        outputs = Scale(**card.target).undo(outputs) if card.target else outputs
        return [scatter(outputs, targets, card.classes)]
    return []


def _what_went_wrong(card: Card, chosen: Outcome, test: SetFolder) -> Section:
    """Show the worst answers: as pictures, or as a table."""
    if card.task == "merge":
        return _merged(card, chosen, test)
    given = answers(card, chosen.found)
    shown = worst(given, SHOWN)
    num = sum(one.right is False for one in given)
    sure = any(one.right is None for one in given)
    unsure = "The worst first." if sure else "The answers that were least sure; none is wrong."
    text = f"{num} of {len(given)} test sets. The worst first." if num else unsure
    title = "What it got wrong" if num else "The hardest sets"
    if card.kind != "pictures":
        rows = [(test.names[k], given[k].truth, given[k].said) for k in shown]
        columns = ("set", "what is right", "what the network says")
        cells = tuple(tuple(Cell(short(word)) for word in row) for row in rows)
        return Section(title, text, tables=[Table("Answers", "Test sets.", columns, cells)])
    sets = []
    for k in shown:
        one = given[k]
        lines = [f"right: {one.truth}", f"says: {one.said}"]
        looks = (lines, one.right, one.scores, one.chosen)
        sets.append(ShownSet(test.names[k], test[k][0], *looks))
    return Section(title, text, pictures=[sheet(sets, "mistakes", "Test sets, one in a row.")])


def _merged(card: Card, chosen: Outcome, test: SetFolder) -> Section:
    """Show shots, their mean, the result and the truth of the worst sets."""
    metric = task_of(card).metric
    values = chosen.found.values[metric.name].cpu()
    order = values.argsort(descending=not metric.larger_is_better)[:SHOWN].tolist()
    device = next(chosen.network.parameters()).device
    sets = []
    for k in order:
        x, target = test[k]
        with torch.no_grad(), evaluating(chosen.network):
            result = chosen.network(x[None].to(device))[0].cpu()
        results = [("mean", pool(x[None], "mean")[0]), ("network", result), ("truth", target)]
        line = f"{metric.name} {values[k]:.2f}"
        sets.append(ShownSet(test.names[k], x[:5], [line], None, results=results))
    drawn = sheet(sets, "mistakes", "Test sets, one in a row, with what became of them.")
    return Section("The hardest sets", "The worst first.", pictures=[drawn])


def _usage(folder: Path) -> str:
    return f"""symsets predict {quote(str(folder))} NEW_SETS --out predictions.csv

# or in Python
import symsets
from symsets.data import SetFolder
from symsets.train import predict

net = symsets.load({str(folder)!r})
for answer in predict(net, SetFolder("NEW_SETS", like=net.card)):
    print(answer)"""
