"""Sets on disk as a dataset of pairs of a set and its target."""

from __future__ import annotations

import copy
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from symsets._checks import as_path, check_choice, check_kind
from symsets.data.decoding import Skipped
from symsets.data.labelled import LabelledSets
from symsets.data.set_folder.elements import Preparation
from symsets.data.set_folder.opening import open_sets
from symsets.data.set_folder.stores import CachedStore, to_unit
from symsets.data.splits import divide
from symsets.models.card import TASKS, Card
from symsets.sets import RaggedSets, collate

LATE = "not readable when it was needed"
MOST_NAMES = 12  # of classes that are printed


class SetFolder(Dataset[tuple[Any, Any]]):
    """Sets in a folder or table, with what is asked of them; printing it says what was found.

    Layouts:
        - ``class/set/*.jpg``: the class of each set (``"classify"``).
        - ``set/*.jpg`` and ``labels.csv`` with columns ``set,label``: words are classes, numbers a
          regression, several columns of 0 and 1 several labels, of other numbers a regression of
          several numbers. A single column called ``label`` or ``class`` that holds nothing but the
          whole numbers from 0 or 1 up to K ≤ 20, each at least twice, is taken for classes;
          ``task="regress"`` takes it for numbers.
        - ``labels.csv`` with ``set,file``: the best element of each set (``"select"``); with
          ``set,file,score``: a number for each element (``"score"``).
        - ``set/*.jpg`` with a picture called ``target`` in each set: merging (``"merge"``).
        - ``set.npy``, ``.npz``, ``.csv``, ``.parquet`` or ``.h5``, ``(N, C)`` for vectors or
          ``(N, C, L)`` for signals, and ``labels.csv`` or a folder for each class. Where a file
          holds several arrays, that called ``x``, ``features``, ``feats`` or ``data`` is taken.
        - A table (``.csv`` or ``.parquet``) with a column ``set`` and columns of numbers; perhaps
          ``element``, ``split``, and ``label``, ``label_…``, ``score`` or ``best``.
        - ``set/*.npy`` (also ``.xyz .ply .off``): sets of clouds ``(P, C)``; with
          ``kind="clouds"`` where ``labels.csv`` does not name the folders.

    Columns of ``.csv`` and ``.parquet`` are found by their names, in whatever order a file has
    them; without a header, by their places.

    Folders ``train``, ``val`` and ``test`` around any of these, or a column ``split`` in
    ``labels.csv``, say which sets are for what.

    Pictures come upright, as float32 in [0, 1], all of one size, grey with one channel if all are
    grey. Colours with 16 bits are reduced to 8; grey keeps them. Headers are read at once; what
    cannot be read is left out and listed in :attr:`skipped`, and so is what turns out to be
    unreadable later. (If it was the best, the only or the wanted element of its set, zeros or the
    mean of the others take its place, so that no epoch ends early.) Arrays of up to 256 MB in all
    are searched for NaNs at once; later ones lose the rows with NaNs, which are listed, too.

    Args:
        root: The folder, or the table.
        task: What is asked, one of those of :class:`symsets.models.Card`; found from the layout.
        kind: What elements are: ``"pictures"``, ``"vectors"``, ``"signals"`` or ``"clouds"``.
        size: Height and width of pictures, or one number for both. By default those of the
            pictures if all are alike, up to 128, else a square.
        resize: How pictures get their size: ``"crop"`` the middle in the right proportions, or
            ``"scale"`` without cropping, which distorts.
        channels: 1 for grey pictures, 3 for colours.
        like: The card of a trained network, for sets that it is to see: all of the above is taken
            from it. Labels may be missing, and targets are then None.
        cache: Keep decoded elements in a temporary file that workers share, with 1 byte for each
            entry of a picture and 4 for other elements. The free space is checked before, and the
            file is deleted with the process. Clouds are not kept.

    Raises:
        ValueError: The folder is not as described; the message names the file.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        task: str | None = None,
        kind: str | None = None,
        size: int | Sequence[int] | None = None,
        resize: str = "crop",
        channels: int | None = None,
        like: Card | None = None,
        cache: bool = False,
    ) -> None:
        self.root = as_path("root", root)
        if like is not None:
            check_kind("like", like, Card)
            if (task, kind, size, resize, channels) != (None, None, None, "crop", None):
                raise ValueError("like must be alone, as it says all of these")
            task, how = like.task, Preparation.of_card(like)
        else:
            if task is not None:
                check_choice("task", task, TASKS)
            how = Preparation(kind, size, resize, channels)
        classes = None if like is None else like.classes
        opened = open_sets(self.root, task, how, classes)
        self._found, self._splits, self._targets, self._which = opened
        self._like, self.kind = like, str(self._found.how.kind)
        self.task, self.classes = self._targets.task, self._targets.classes
        store, pictures = self._found.store, self._found.pictures
        # Elements are decoded once; then reading needs no processes of its own.
        self.cached = cache and store.shape is not None
        self._read = CachedStore(store).read if self.cached else store.read
        if pictures is not None:
            self._read_target = CachedStore(pictures).read if self.cached else pictures.read
        self._starts = np.concatenate([[0], np.cumsum(store.counts)]).tolist()
        # Workers share these, so that everybody knows what one of them could not read.
        self._broken = torch.zeros(self._starts[-1], dtype=torch.uint8).share_memory_()

    def __len__(self) -> int:
        return len(self._which)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        k = self._which[index]
        values, failed = self._read(k)
        if failed:
            self._broken[[self._starts[k] + j for j in failed]] = 1
        keep = self._usable(k)
        target = self._target(k, keep)
        if isinstance(values, list):
            return RaggedSets.from_list([torch.from_numpy(values[j]) for j in keep]), target
        whole = len(keep) == len(values)
        x = to_unit(values if whole else values[keep])
        if self._found.pictures is not None:
            picture, lost = self._read_target(k)
            target = x.mean(0) if lost else to_unit(picture)[0]
        return x, target

    def _usable(self, k: int) -> list[int]:
        """Return the elements of a set that could be read, or whose place must be kept."""
        broken = self._broken[self._starts[k] : self._starts[k + 1]]
        num = len(broken)
        if not broken.any():
            return list(range(num))
        values = self._targets.values
        wanted = int(values[k]) if self.task == "select" and values is not None else None
        keep = [j for j in range(num) if not broken[j] or j == wanted]
        return keep or [0]

    def _target(self, k: int, keep: list[int]) -> Tensor | None:
        if self._targets.values is None:
            return None
        target = self._targets.values[k]
        if self.task == "select":
            return torch.tensor(keep.index(int(target)))
        return target[keep] if self.task == "score" else target

    @property
    def names(self) -> list[str]:
        """The names of the sets, which are their paths below the folder."""
        return [self._found.sets[k].name for k in self._which]

    @property
    def splits(self) -> list[str | None]:
        """What folders or a column say a set is for; None where nothing does."""
        return [self._splits[k] for k in self._which]

    @property
    def element_shape(self) -> tuple[int, ...] | None:
        """The shape of an element; None for clouds, which differ."""
        return self._found.store.shape

    @property
    def element(self) -> dict[str, Any]:
        """How elements are prepared, in the words of a card, such as ``{"channels": 3, …}``."""
        return self._found.how.to_element()

    @property
    def has_targets(self) -> bool:
        """Whether sets come with their targets."""
        return self._targets.values is not None or self._found.pictures is not None

    @property
    def sizes(self) -> list[int]:
        """How many elements each set has; nothing is decoded for it."""
        if not self._broken.any():
            return [self._found.store.counts[k] for k in self._which]
        return [len(self._usable(k)) for k in self._which]

    def elements(self, index: int) -> list[str]:
        """Return the names of the elements of a set, in the order in which they are read."""
        k = self._which[index]
        names = self._found.store.names(k)
        return [names[j] for j in self._usable(k)]

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """What was left out so far of the whole folder, and why."""
        late = []
        for t in self._broken.nonzero().flatten().tolist():
            k = int(np.searchsorted(self._starts, t, side="right")) - 1
            late.append((self._found.store.place(k, t - self._starts[k]), LATE))
        return [*self._found.skipped, *late]

    @property
    def targets(self) -> Tensor | None:
        """The targets of all sets end to end; None if they are pictures, or there are none.

        ``(M,)`` for classes and best elements, ``(M, K)`` for labels and numbers, and for scores
        one number for each element of all sets.
        """
        if isinstance(self._targets.values, list):
            return torch.cat([self._targets.values[k][self._usable(k)] for k in self._which])
        return None if self._targets.values is None else self._targets.values[self._which]

    @property
    def card(self) -> Card | None:
        """What a network for these sets is for; None if there is no task."""
        if self._like is not None:
            return self._like
        if self.task is None:
            return None
        return Card(self.task, self.kind, self.classes, self.element)

    def subset(self, indices: Iterable[int]) -> SetFolder:
        """Return some of the sets, which share the cache and the list of what was skipped."""
        chosen = copy.copy(self)
        chosen._which = [self._which[index] for index in indices]
        return chosen

    def in_memory(self) -> LabelledSets:
        """Read all sets, so that nothing is read or decoded again; they must have targets."""
        x, y = collate([self[k] for k in range(len(self))])
        return LabelledSets(x, y)

    def split(
        self, fractions: Sequence[float] = (0.7, 0.15, 0.15), seed: int = 0
    ) -> tuple[SetFolder, SetFolder, SetFolder]:
        """Divide the sets into those for training, for validation and for the test.

        Folders or a column that name the splits decide. If only one of ``val`` and ``test`` is
        there, it is the test, and sets of ``train`` are taken for validation. Without both, sets
        are divided at random, with about the same share of every class (of every combination of
        labels, of every fifth of the first number) in each part.

        Args:
            fractions: The share of each part.
            seed: Chooses another division.
        """
        parts = divide(self.names, self._strata(), self.splits, fractions, seed)
        train, val, test = (self.subset(part) for part in parts)
        return train, val, test

    def _strata(self) -> list[object]:
        """Return what is to be spread evenly: classes, combinations of labels, fifths."""
        targets, num = self.targets, len(self)
        if targets is None or self.task not in ("classify", "labels", "regress"):
            return [None] * num
        if self.task == "regress":
            rank = targets[:, 0].argsort(stable=True).argsort()
            return (rank * 5 // max(1, num)).tolist()
        return [tuple(own) for own in targets.reshape(num, -1).tolist()]

    def __repr__(self) -> str:
        sizes = sorted({min(self.sizes, default=0), max(self.sizes, default=0)})
        kind = self.kind[:-1] if sizes == [1] else self.kind
        shape = "" if self.element_shape is None else f" {self.element_shape}"
        lines = [f"{len(self)} sets of {'–'.join(map(str, sizes))} {kind}{shape}", self._asked()]
        if given := Counter(split for split in self.splits if split):
            lines.append("splits: " + ", ".join(f"{num} {split}" for split, num in given.items()))
        if self._found.note:
            lines.append(self._found.note)
        if self.skipped:
            lines.append(str(Skipped(why for _, why in self.skipped)))
        inside = "".join(f"\n  {line}" for line in lines)
        return f"SetFolder({str(self.root)!r}:{inside})"

    def _asked(self) -> str:
        """Return what is asked of the sets, in words."""
        if self.task is None:
            return "no labels, so no task"
        note = f" ({self._targets.note})" if self._targets.note else ""
        more = ", …" if len(self.classes) > MOST_NAMES else ""
        names = self.classes[:MOST_NAMES]
        if self.task == "classify" and self.targets is not None:
            times = Counter(self.targets.tolist())
            named = ", ".join(f"{name} {times[k]}" for k, name in enumerate(names))
            return f"classify: {len(self.classes)} classes: {named}{more}{note}"
        what = f": {', '.join(names)}{more}" if names else ""
        return f"{self.task}{what}{note}{'' if self.has_targets else '; no labels'}"
