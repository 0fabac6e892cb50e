"""What a trained network says about new sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset

from symsets._checks import check_kind, positive, shown
from symsets._modes import evaluating
from symsets.data.labelled import LabelledSets, SetDataset
from symsets.data.set_folder import SetFolder
from symsets.data.streaming import StreamedSets
from symsets.models.card import Card
from symsets.sets import RaggedSets
from symsets.train.defaults import Scale
from symsets.train.inputs import check_workers, chosen_device, num_workers
from symsets.train.tasks import cast


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a network says about one set; what its task does not give is None.

    Attributes:
        name: Of the set, or its number.
        label: The most probable class (task ``"classify"``), by name if classes have names.
        labels: All labels that are more probable than not (task ``"labels"``).
        probabilities: Of every class or label.
        chosen: The number of the element with the highest score (task ``"select"``).
        scores: One per element (tasks ``"select"`` and ``"score"``).
        values: The numbers of a regression, by name if they have names.
        picture: The new element (task ``"merge"``), on the CPU.
        elements: Names of the elements, if the sets know them; ``scores`` has the same order.
    """

    name: str
    label: str | int | None = None
    labels: tuple[str | int, ...] | None = None
    probabilities: dict[str | int, float] | None = None
    chosen: int | None = None
    scores: tuple[float, ...] | None = None
    values: dict[str | int, float] | None = None
    picture: Tensor | None = None
    elements: tuple[str, ...] = ()

    def __repr__(self) -> str:
        found = {k: v for k, v in vars(self).items() if v is not None and k != "elements"}
        return f"Prediction({', '.join(f'{key}={shown(v)}' for key, v in found.items())})"


def predict(
    net: nn.Module,
    sets: Any,
    *,
    batch_size: int = 32,
    device: str = "auto",
    workers: int | None = None,
) -> list[Prediction]:
    """Return what a trained network says about each set.

    Args:
        net: A network with a ``card``, from :func:`~symsets.train.fit` or :func:`symsets.load`.
        sets: A ``SetFolder`` opened with ``like=net.card``, a ``Dataset`` or ``DataLoader`` of sets
            with or without targets, a tensor ``(M, N, C, …)``, :class:`~symsets.RaggedSets`, or a
            list of sets ``(N, C, …)``. A tuple of two tensors is taken as sets and targets, as by
            ``fit``.
        batch_size: Sets at a time.
        device: Where to compute; the network is moved there meanwhile.
        workers: Processes that read a dataset, as for ``fit``.

    Example:
        >>> from symsets.models import Card
        >>> from symsets.nn import Classify
        >>> net = Classify(3, 2)
        >>> net.card = Card("classify", "vectors", classes=("cat", "dog"))
        >>> answers = predict(net, [torch.randn(5, 3), torch.randn(2, 3)])
        >>> [answer.label in ("cat", "dog") for answer in answers]
        [True, True]
    """
    check_kind("net", net, nn.Module, "network")
    card = getattr(net, "card", None)
    if not isinstance(card, Card):
        raise ValueError("net must have a card, from fit or load; set net.card = Card(task, kind)")
    _check_preparation(card, sets)
    check_workers(workers)
    answers: list[Prediction] = []
    # Those of a tensor are the names of its axes.
    names = None if isinstance(sets, Tensor) else getattr(sets, "names", None)
    elements = getattr(sets, "elements", None)
    with torch.no_grad(), evaluating(net), _moved(net, torch.device(chosen_device(device))):
        for x in _batches(sets, positive("batch_size", batch_size), workers):
            for answer in read_outputs(card, net(cast(net, x)), len(x)):
                number = len(answers)
                name = str(number if names is None else names[number])
                _check_answer(name, answer)
                own = tuple(map(str, elements(number))) if callable(elements) else ()
                answers.append(replace(answer, name=name, elements=own))
    return answers


def _check_preparation(card: Card, sets: Any) -> None:
    """Raise ValueError if the elements of a folder are prepared in another way than for training.

    What a card does not say is not compared.
    """
    while isinstance(sets, Subset):
        sets = sets.dataset
    if not isinstance(sets, SetFolder) or "channels" not in card.element:
        return
    wanted, found = ({"kind": own.kind, **own.element} for own in (card, sets))
    for name, value in wanted.items():
        if name in found and found[name] != value:
            raise ValueError(
                f"sets must be prepared as for training, with {name} {shown(value)}, got "
                f"{shown(found[name])}: open the folder with SetFolder(root, like=net.card)"
            )


def _check_answer(name: str, answer: Prediction) -> None:
    """Raise ValueError naming the set if any number of an answer is NaN."""
    shares = (answer.probabilities or answer.values or {}).values()
    numbers = torch.tensor([*shares, *(answer.scores or ())])
    if (numbers if answer.picture is None else answer.picture).isnan().any():
        raise ValueError(f"sets must give answers without NaN, got NaN for set {name!r}")


@contextmanager
def _moved(net: nn.Module, device: torch.device) -> Iterator[None]:
    """Move a network to a device, and back at the end."""
    before = next((p.device for p in net.parameters()), device)
    net.to(device)
    try:
        yield
    finally:
        net.to(before)


def _batches(sets: Any, batch_size: int, workers: int | None) -> Iterator[Any]:
    """Give sets in batches, without their targets."""
    if isinstance(sets, TensorDataset):
        sets = sets.tensors[0]
    elif isinstance(sets, LabelledSets):
        sets = sets.x
    elif isinstance(sets, tuple) and sets and isinstance(sets[0], Tensor | RaggedSets):
        sets = sets[0]
    if isinstance(sets, Tensor) and sets.ndim < 3:
        raise ValueError(f"sets must be a tensor (M, N, C, …), got shape {tuple(sets.shape)}")
    if isinstance(sets, Tensor | RaggedSets):
        return (sets[k : k + batch_size] for k in range(0, len(sets), batch_size))
    if isinstance(sets, DataLoader):
        return (b[0] if isinstance(b, list | tuple) else b for b in sets)
    if not isinstance(sets, SetDataset):
        listed = hasattr(sets, "__len__") and hasattr(sets, "__getitem__")
        if not listed or isinstance(sets, str | dict):
            raise TypeError(f"sets must be tensors, a list or a dataset, got {type(sets).__name__}")
        sets = StreamedSets(_WithoutTargets(sets), workers=num_workers(sets, workers))
    return (x for x, _ in sets.parts(batch_size)) if sets.num_sets else iter(())


class _WithoutTargets(Dataset[Any]):
    """Sets with or without targets, as pairs with the number of the set."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, number: int) -> tuple[Any, int]:
        item = self.dataset[number]
        # A list may also be a set of graphs.
        is_list = isinstance(item, list) and isinstance(item[0], Tensor | RaggedSets | list)
        return (item[0] if isinstance(item, tuple) or is_list else item), number


def read_outputs(card: Card, output: Any, num: int) -> list[Prediction]:
    """Return what the output of a network says about each of ``num`` sets, without their names."""
    if not isinstance(output, Tensor | RaggedSets):
        raise TypeError(f"net must return a tensor or sets, got {type(output).__name__}")
    if len(output) != num:
        raise ValueError(f"net must return a row for each of {num} sets, got {len(output)}")
    output = output.cpu()
    if card.target:
        output = Scale(**card.target).undo(output.to(torch.float64))
    ways: dict[str, Callable[[Card, Tensor], dict[str, Any]]] = {
        "classify": _class,
        "labels": _labels,
        "regress": lambda card, row: {"values": _named(card, row)},
        "select": _chosen,
        "score": lambda card, row: {"scores": tuple(row.tolist())},
        "merge": lambda card, row: {"picture": row},
    }
    return [Prediction("", **ways[card.task](card, row)) for row in output]


def _class(card: Card, row: Tensor) -> dict[str, Any]:
    probabilities = _named(card, row.softmax(0))
    return {"label": [*probabilities][int(row.argmax())], "probabilities": probabilities}


def _chosen(card: Card, row: Tensor) -> dict[str, Any]:
    # Nothing is chosen from an empty set.
    return {"chosen": int(row.argmax()) if len(row) else None, "scores": tuple(row.tolist())}


def _labels(card: Card, row: Tensor) -> dict[str, Any]:
    probabilities = _named(card, row.sigmoid())
    there = tuple(name for name, p in probabilities.items() if p > 0.5)
    return {"labels": there, "probabilities": probabilities}


def _named(card: Card, row: Tensor) -> dict[str | int, float]:
    """Return numbers by name, or by number if there are no names for them."""
    values = row.reshape(-1).tolist()
    names = card.classes if len(card.classes) == len(values) else range(len(values))
    return dict(zip(names, values, strict=True))
