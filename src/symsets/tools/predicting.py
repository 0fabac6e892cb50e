"""Apply a trained network to a folder of new sets: a table, a page, and pictures if it merges."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from symsets._checks import as_path
from symsets._extras import require
from symsets._files import atomic_write, check_file, check_outside, reading, write_csv
from symsets.data.set_folder import SetFolder
from symsets.models.card import Card
from symsets.pages import Cell, Picture, Table, write_page
from symsets.saving import DESCRIPTION, load
from symsets.tools.answers import said
from symsets.tools.comparing import SHARES, Score, measure, shown_score, task_of
from symsets.tools.figures import ShownSet, sheet, short
from symsets.tools.report import QUESTIONS, Section
from symsets.tools.training import PARTS, place_of
from symsets.train import Prediction, predict

SHOWN = 12  # sets on the page and in the terminal


@dataclass(frozen=True)
class Predicted:
    """What :func:`predict_folder` leaves."""

    rows: Path  # the CSV file with all answers
    page: Path  # with the first of them
    table: Table  # the first answers
    notes: tuple[str, ...]  # how many are right
    left_out: tuple[tuple[str, str], ...]  # what could not be read, each with why


def predict_folder(
    model: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str] = "predictions.csv",
    *,
    device: str = "auto",
    workers: int | None = None,
) -> Predicted:
    """Write what a trained network says about the sets of a folder.

    Args:
        model: What :func:`symsets.load` takes.
        folder: Sets in the layout of the training sets; labels may be missing.
        out: The CSV file. A page, and merged pictures, get names like it.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, …
        workers: Processes that read sets.
    """
    path = as_path("out", out)
    check_file("out", path, (".csv",))
    if not (Path(model) / DESCRIPTION).is_file():
        raise ValueError(f"model must be a folder that `symsets train` wrote, got {model}")
    check_outside(path, Path(folder))
    network = load(model)
    card: Card | None = getattr(network, "card", None)
    if card is None:
        raise ValueError(f"{model} must hold a network of symsets train, with a card")
    sets = SetFolder(folder, like=card)
    answers = predict(network, sets, device=device, workers=workers)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_csv(path, list(_rows(answers, path.with_suffix(""))))
    notes = _right(network, card, sets, _new(Path(model), sets), workers)
    table = _table(answers)
    page = path.with_suffix(".html")
    content = {
        "command": "predict",
        "title": sets.root.resolve().name,
        "asked": QUESTIONS[card.task],
        "headlines": notes,
        "facts": {"sets": len(sets)},
        "sections": [Section("Answers", tables=[table], pictures=_sheets(card, sets, answers))],
        "skipped": sets.skipped,
    }
    write_page(page, Path(__file__).with_name("page.html"), content)
    return Predicted(path, page, table, tuple(notes), tuple(sets.skipped))


def _rows(answers: Sequence[Prediction], pictures: Path) -> Iterator[dict[str, Any]]:
    """Give one row for each set, or for each element where elements have scores."""
    for answer in answers:
        row: dict[str, Any] = {"set": answer.name}
        if answer.scores is not None:
            names = answer.elements or tuple(map(str, range(len(answer.scores))))
            for k, (name, score) in enumerate(zip(names, answer.scores, strict=True)):
                mark = {} if answer.chosen is None else {"chosen": int(k == answer.chosen)}
                yield row | {"file": name, "score": score} | mark
            continue
        shares = answer.probabilities or {}
        if answer.picture is not None:
            row["file"] = str(_save_picture(pictures, answer.name, answer.picture))
        if answer.label is not None:
            row["label"] = answer.label
        if answer.labels is not None:
            row |= {str(name): int(name in answer.labels) for name in shares}
        row |= {str(name): value for name, value in (answer.values or {}).items()}
        yield row | {f"probability of {name}": round(share, 6) for name, share in shares.items()}


def _save_picture(folder: Path, name: str, picture: Tensor) -> Path:
    image = require("PIL.Image", "images")
    path = folder / f"{name.replace('/', '-')}.png"
    folder.mkdir(parents=True, exist_ok=True)
    levels = (255 * picture.clamp(0, 1)).round().byte().movedim(0, -1).numpy()
    with atomic_write(path) as part:
        image.fromarray(np.squeeze(levels)).save(part, format="PNG")
    return path


def _new(model: Path, sets: SetFolder) -> SetFolder:
    """Return the sets of a folder that a network was neither trained nor chosen by."""
    with suppress(ValueError), reading(model / PARTS, "parts of sets") as parts:
        if parts.get("folder") == place_of(sets):
            seen = {*parts.get("train", ()), *parts.get("val", ())}
            return sets.subset(k for k, name in enumerate(sets.names) if name not in seen)
    return sets


def _right(
    network: Any, card: Card, sets: SetFolder, new: SetFolder, workers: int | None
) -> list[str]:
    """Say how good the answers about new sets are, where the folder knows what is right."""
    if len(sets) == 0 or sets[0][1] is None:
        return []
    if len(new) == 0:
        return ["The network was trained with all of these sets: how good it is, new ones tell."]
    metric = task_of(card).metric.name
    device = str(next(network.parameters()).device)
    found = measure(network, card, new, device=device, workers=workers)
    score = f"{shown_score(Score.of(found, metric), metric)}{' %' if metric in SHARES else ''}"
    if len(new) == len(sets):
        return [f"The folder has labels: {metric} {score}."]
    return [
        f"The network was trained with {len(sets) - len(new)} of these {len(sets)} sets. "
        f"On the others: {metric} {score}."
    ]


def _table(answers: Sequence[Prediction]) -> Table:
    shown = answers[:SHOWN]
    rows = tuple((Cell(short(answer.name)), Cell(short(said(answer)))) for answer in shown)
    caption = f"The first {len(shown)} of {len(answers)} sets." if len(answers) > SHOWN else ""
    return Table("Answers", caption, ("set", "what the network says"), rows)


def _sheets(card: Card, sets: SetFolder, answers: Sequence[Prediction]) -> list[Picture]:
    if card.kind != "pictures" or not answers:
        return []
    shown = []
    for k, answer in enumerate(answers[:SHOWN]):
        x = sets[k][0]
        scores = [f"{score:.3g}" for score in answer.scores or ()]
        marked = [] if answer.chosen is None else [answer.chosen]
        results = [] if answer.picture is None else [("merged", answer.picture)]
        lines = [] if answer.picture is not None else [said(answer)]
        shown.append(ShownSet(answer.name, x, lines, None, scores, marked, results))
    return [sheet(shown, "answers", "The first sets, one in a row.")]
