"""Train networks on a folder of sets, compare them, and write a page."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from symsets._checks import shown
from symsets._files import check_outside, check_place, digest, write_json
from symsets.data.set_folder import SetFolder
from symsets.models import network_for
from symsets.nn.registry import is_scheme
from symsets.nn.registry import schemes as all_schemes
from symsets.pages import Table
from symsets.pages.styles import style_of
from symsets.saving import DESCRIPTION, save
from symsets.sets import RaggedSets
from symsets.tools import comparing
from symsets.tools.left_out import left_out_lines
from symsets.tools.report import write_report
from symsets.train import fit
from symsets.train.inputs import chosen_device

SCHEMES = ("dss-mean", "siamese")
PAGE, PARTS = "report.html", "sets.json"
MEMORY, BYTES = 2**29, 4  # for all elements of a folder, and for one of their numbers
SEEN = 1000  # sets, or up to twice as many, from which the scale of vectors is learnt
EPSILON = 2.0**-23  # how finely float32 divides numbers, as a share of them
DECAY = 0.05  # of weights, by AdamW
RATES = {True: 3e-3, False: 3e-4}  # of small networks, and of pretrained ones


@dataclass(frozen=True)
class Trained:
    """What :func:`train_folder` leaves."""

    best: str  # the scheme that validation liked best; its network is in the folder itself
    outcomes: tuple[comparing.Outcome, ...]  # of all networks, last of the trivial answer
    table: Table  # the same in words
    headline: str  # the same in a sentence
    page: Path  # about them


def train_folder(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    task: str | None = None,
    schemes: Sequence[str] = SCHEMES,
    backbone: str = "small",
    size: int | None = None,
    resize: str = "crop",
    epochs: int = 30,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    precision: str = "float32",
    class_weights: str | None = None,
    device: str = "auto",
    workers: int | None = None,
    seed: int = 0,
    say: Callable[[str], None] = print,
) -> Trained:
    """Train one network for each scheme, and compare them with the trivial answer.

    The network that validation likes best is saved in ``out``, where :func:`symsets.load` and
    ``symsets predict`` find it; those of all schemes are in folders of their own below. The same
    call continues after a kill.

    Args:
        folder: What :class:`~symsets.data.SetFolder` takes.
        out: Where to write.
        task: What is asked; found from the folder if left out.
        schemes: How elements of a set meet, one network for each.
        backbone: ``"small"``, or ``"timm:NAME"`` for a pretrained network.
        size: Height and width of pictures.
        resize: ``"crop"`` pictures to their middle, or ``"scale"`` all of them, which distorts.
        epochs: Passes over the training sets.
        batch_size: Sets in a step; as in :func:`~symsets.train.fit` if left out.
        learning_rate: The largest one; if left out, 0.003, or 0.0003 for a pretrained network.
        precision: As in :func:`~symsets.train.fit`.
        class_weights: ``"balanced"`` weighs rare classes up.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, …
        workers: Processes that read sets.
        seed: Of initialisation, order and splits.
        say: Called with lines about what happens.
    """
    _check_schemes(schemes)
    root = Path(out)
    for place in (root, *(root / scheme for scheme in schemes)):
        check_place("out", place)
    _check_own(root, schemes)
    check_outside(root, Path(folder))
    device = chosen_device(device)
    sets = SetFolder(folder, task=task, size=size, resize=resize, cache=True)
    card = sets.card
    if card is None:
        raise ValueError(
            f"{folder} must say what is right for each set: class/set/*.jpg, labels.csv beside the "
            "sets, or a picture called target in each set; the sets that were found are "
            f"{', '.join(map(shown, sets.names[:3]))}{', …' if len(sets.names) > 3 else ''}"
        )
    for line in (repr(sets), *left_out_lines(sets.skipped)):
        say(line)
    train, val, test = parts = sets.split(seed=seed)
    _check_classes(sets, train)
    read = [part.in_memory() if _is_small(sets) else part for part in parts]
    say(f"{len(train)} sets to train, {len(val)} to validate, {len(test)} to test, on {device}")
    rate = RATES[backbone == "small"] if learning_rate is None else learning_rate
    where: dict[str, Any] = {"device": device, "workers": workers}
    learn = partial(
        fit,
        train=read[0],
        val=read[1],
        task=card.task,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=rate,
        weight_decay=DECAY,
        precision=precision,
        keep="loss",
        class_weights=class_weights,
        seed=seed,
        **where,
    )
    networks = {}
    some = _sample(train) if card.kind == "vectors" else None
    if some is not None and (numbers := _run_together(some)):
        say(f"columns {numbers} hardly differ in single precision: subtract their mean first")
    for scheme in schemes:  # whatever is wrong with one of them is said before any is trained
        torch.manual_seed(seed)
        networks[scheme] = network_for(card, scheme=scheme, backbone=backbone)
        if some is not None:
            networks[scheme].learn_scale(some)
        learn(net=networks[scheme], out=root / scheme, progress=False, dry_run=True)
    outcomes = list[comparing.Outcome]()
    for scheme, network in networks.items():
        say(f"\n{style_of(scheme).label}: {style_of(scheme).meaning or scheme}")
        card = learn(net=network, out=root / scheme).card
        outcomes.append(comparing.outcome(scheme, network, card, *read[1:], **where))
    best = comparing.best_of(outcomes, card)
    name, answer = comparing.trivial_answer(card, train.targets)
    outcomes.append(comparing.outcome(name, answer, card, *read[1:], **where))
    chosen = outcomes[best]
    metric = comparing.task_of(card).metric.name
    measured = {f"val_{metric}": chosen.val.mean, f"test_{metric}": chosen.test.mean}
    chosen.network.card = replace(card, metrics=measured)
    save(chosen.network, root)
    names = {name: part.names for name, part in zip(("train", "val", "test"), parts, strict=True)}
    write_json(root / PARTS, {"folder": place_of(sets), **names})
    table = comparing.results_table(outcomes, card, best)
    told = comparing.headline(outcomes, card, best)
    page = write_report(root / PAGE, parts, outcomes, best, table, told)
    return Trained(chosen.name, tuple(outcomes), table, told, page)


def place_of(sets: SetFolder) -> str:
    """Return what tells a folder from others, and does not say where it is."""
    return digest(str(sets.root.resolve()).encode())


def _check_own(root: Path, schemes: Sequence[str]) -> None:
    """Raise ValueError if ``root`` holds a network that this training would replace unseen."""
    finished = (path.parent.name for path in sorted(root.glob(f"*/{DESCRIPTION}")))
    if others := [name for name in finished if is_scheme(name) and name not in schemes]:
        raise ValueError(f"out must be another folder than {root}, with networks of {others}")


def _check_classes(sets: SetFolder, train: SetFolder) -> None:
    """Raise ValueError naming a class that a network would be tested on but never saw."""
    if sets.task != "classify" or sets.targets is None or train.targets is None:
        return
    seen, targets = set(train.targets.tolist()), sets.targets.tolist()
    for name, number in zip(sets.names, targets, strict=True):
        if number not in seen:
            raise ValueError(
                f"{sets.root} must have sets to train on of each class (three in all, unless "
                f"folders divide them), found only others, such as {name!r}, of class "
                f"{sets.classes[number]!r}"
            )


def _sample(sets: SetFolder) -> RaggedSets:
    """Return some of the sets, evenly spread, from which the scale of vectors is learnt."""
    step = max(1, len(sets) // SEEN)
    return RaggedSets.from_list([sets[k][0] for k in range(0, len(sets), step)])


def _run_together(sets: RaggedSets) -> list[int]:
    """Return the columns, counted from 1, of which float32 holds few different values."""
    rows = sets.elements.double()
    step, spread = rows.abs().amax(0) * EPSILON, rows.std(0)
    return [k + 1 for k in ((spread > 0) & (spread < 100 * step)).nonzero().flatten().tolist()]


def _is_small(sets: SetFolder) -> bool:
    """Whether all sets may be kept in memory, where steps need not wait for files."""
    shape = sets.element_shape
    return shape is not None and BYTES * sum(sets.sizes) * math.prod(shape) <= MEMORY


def _check_schemes(given: Sequence[str]) -> None:
    """Raise ValueError naming what is no scheme, or is there twice."""
    for scheme in given:
        if not is_scheme(scheme):
            raise ValueError(f"scheme must be one of {all_schemes()}, got {shown(scheme)}")
    if not given or len(set(given)) < len(given):
        raise ValueError(f"scheme must name different schemes, at least one, got {list(given)}")
