"""Look at the elements of sets before any is needed: what can be used, and what it is like."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from symsets._checks import check_choice, positive, shown
from symsets.data.decoding import UnusableError, middle_box, quiet
from symsets.data.images import IMAGE_SUFFIXES
from symsets.data.set_folder.arrays import (
    array_shape,
    check_finite,
    column_names,
    column_order,
    read_cloud,
    read_numbers,
)
from symsets.data.set_folder.layouts import FoundSet, suffix_of
from symsets.data.set_folder.pictures import Decoder, Header, default_shape, read_header
from symsets.data.set_folder.stores import ArrayStore, Store, TableStore
from symsets.models.card import Card

KINDS = ("pictures", "vectors", "signals", "clouds")
RESIZE = ("crop", "scale")
CHECKED = 2**28  # bytes of arrays that are read whole at the start, to find NaNs before training
AXES = {2: "vectors", 3: "signals"}  # of a set
LOSS = 0.05  # of the pixels of a picture that may be cropped without a word
UNKNOWN, UNREADABLE = "of an unknown kind", "not readable"
Skips = list[tuple[str, str]]


@dataclass(frozen=True)
class Preparation:
    """How elements are prepared, as far as that was said."""

    kind: str | None = None
    size: Any = None  # height and width of pictures, or one number for both
    resize: str = "crop"  # how pictures get that size
    channels: int | None = None  # of an element
    length: int | None = None  # of signals
    columns: tuple[str, ...] | None = None  # names of the numbers of a vector; () if they have none

    def __post_init__(self) -> None:
        if self.kind is not None:
            check_choice("kind", self.kind, KINDS)
        check_choice("resize", self.resize, RESIZE)
        if self.channels is not None and self.kind in (None, "pictures"):
            check_choice("channels", self.channels, (1, 3))
        if self.size is not None:
            both = self.size if isinstance(self.size, Sequence) else (self.size, self.size)
            if len(both) != 2 or isinstance(both, str):
                raise ValueError(f"size must be one number or two, got {shown(self.size)}")
            object.__setattr__(self, "size", tuple(positive("size", side) for side in both))
        if self.columns is not None:  # of a card they are a list
            object.__setattr__(self, "columns", tuple(self.columns))

    def to_element(self) -> dict[str, Any]:
        """Return what a card says about it."""
        if self.kind == "pictures":
            assert isinstance(self.size, Sequence)
            return {"size": [*self.size], "channels": self.channels, "resize": self.resize}
        length = {"length": self.length} if self.kind == "signals" else {}
        columns = {"columns": [*self.columns]} if self.columns else {}
        return {"channels": self.channels, **length, **columns}

    @classmethod
    def of_card(cls, card: Card) -> Preparation:
        """Return what the card of a network says."""
        if "channels" not in card.element:
            raise ValueError(f"like must say 'channels' in element, got {card.element}")
        known = ("size", "resize", "channels", "length", "columns")
        said = {name: value for name, value in card.element.items() if name in known}
        return cls(card.kind, **{"columns": (), **said})  # cards of earlier versions had no names


@dataclass
class Examined:
    """The sets that are left, and how to read them."""

    sets: list[FoundSet]  # those with usable elements
    store: Store  # their elements
    how: Preparation  # all of it known
    pictures: Store | None = None  # their targets, if they are pictures
    skipped: Skips = field(default_factory=list)  # what was left out, and why
    note: str = ""  # how pictures lose what is at their edges, if they do


def examine(sets: Sequence[FoundSet], how: Preparation) -> Examined:
    """Look at every element: pictures by their headers, arrays by their shapes.

    Raise ValueError if elements are not of one kind, do not fit together, or none is usable.
    """
    files: dict[str, str] = {}  # the first of each kind
    for one in sets:
        for file in one.files:
            is_picture = suffix_of(file) in IMAGE_SUFFIXES
            kind = "arrays" if one.whole else "pictures" if is_picture else "clouds"
            files.setdefault(kind, file)
    if not files:
        raise ValueError(f"set {sets[0].name!r} must hold pictures or clouds, found none")
    (kind, first), *others = files.items()
    if others:
        raise ValueError(f"sets must all be of one kind, found {first} and {others[0][1]}")
    fits = ["vectors", "signals"] if kind == "arrays" else [kind]
    if how.kind not in (None, *fits):
        raise ValueError(
            f"kind must be one of {fits} for {first}, got {how.kind!r}, which was asked for or is "
            "what the network was trained on"
        )
    look = {"pictures": _examine_pictures, "clouds": _examine_clouds, "arrays": _examine_arrays}
    found = look[kind](sets, how)
    found.skipped += [(file, UNKNOWN) for one in sets for file in one.ignored]
    return found


def _keep(sets: Sequence[FoundSet], bad: dict[str, str], skipped: Skips) -> list[FoundSet]:
    """Return the sets without files that are bad; leave out those that have no others."""
    kept = []
    for one in sets:
        files = tuple(file for file in one.files if file not in bad)
        skipped += [(file, bad[file]) for file in (*one.files, one.target or "") if file in bad]
        if files and one.target not in bad:
            kept.append(replace(one, files=files))
        else:
            why = "no usable element" if not files else "its target cannot be used"
            skipped.append((one.name, why))
    if not kept:
        path, why = skipped[0]
        raise ValueError(f"{path} must be a usable element, but it is {why}; so are all others")
    return kept


def _examine_pictures(sets: Sequence[FoundSet], how: Preparation) -> Examined:
    paths = [file for one in sets for file in (*one.files, *((one.target,) if one.target else ()))]
    headers: dict[str, Header] = {}
    bad: dict[str, str] = {}
    with quiet():  # one after the other: Python reads headers, so that threads would not help
        for path in paths:
            try:
                headers[path] = read_header(path)
            except UnusableError as error:
                bad[path] = str(error)
    skipped: Skips = []
    kept = _keep(sets, bad, skipped)
    merged = [one.target for one in kept if one.target]
    for one in kept:
        shapes = {headers[file].shape for file in one.files}
        if one.target and headers[one.target].shape not in shapes:
            (height, width), (h, w) = headers[one.target].shape, min(shapes)
            raise ValueError(f"{one.target} must have {w}×{h} pixels, got {width}×{height}")
    used = [headers[file] for file in (*(file for one in kept for file in one.files), *merged)]
    channels = how.channels or (1 if all(header.grey for header in used) else 3)
    size = how.size or default_shape([header.shape for header in used])
    deep = channels == 1 and any(header.deep for header in used)
    decode = Decoder(size, how.resize, channels, deep)
    blank = np.zeros((channels, *size), decode.dtype)
    store = Store([one.files for one in kept], decode, blank)
    targets = Store([(file,) for file in merged], decode, blank) if merged else None
    how = replace(how, kind="pictures", size=size, channels=channels)
    return Examined(kept, store, how, targets, skipped, _cropping(used, how))


def _cropping(headers: Sequence[Header], how: Preparation) -> str:
    """Say how many pictures lose something of note as they are cropped to their middle."""
    lost = []
    for height, width in (header.shape for header in headers):
        left, top, right, bottom = middle_box((width, height), how.size)
        lost.append(1 - (right - left) * (bottom - top) / (width * height))
    if how.resize != "crop" or max(lost) <= LOSS:
        return ""
    num = sum(share > LOSS for share in lost)
    return (
        f"{num} of {len(lost)} pictures are cropped to their middle and lose up to "
        f'{100 * max(lost):.0f} %; resize="scale" keeps all of them'
    )


def _examine_arrays(sets: Sequence[FoundSet], how: Preparation) -> Examined:
    axes = [number for number, kind in AXES.items() if how.kind in (None, kind)]
    kept, counts, skipped = [], [], []
    orders: list[list[int] | None] = []
    columns, named = how.columns, ""  # and the file that has these names
    expected: tuple[int, ...] = ()
    first = ""
    wrong: ValueError | None = None
    for one in sets:
        file = one.files[0]
        try:
            shape = array_shape(file)
        except ValueError as error:
            if suffix_of(file) == ".csv":
                raise  # it names the line, which can be mended
            wrong = wrong or error
            skipped.append((file, UNREADABLE))
            continue
        names = column_names(file)
        order = column_order(file, names, columns or (), _like(named))
        if names and columns is None:
            columns, named = names, file
        if how.kind == "vectors" and len(shape) == 3 and shape[0] == 1:
            shape = shape[1:]  # some writers put a batch axis first
        if len(shape) not in axes:
            rule = " or ".join(("(N, C)", "(N, C, L)")[number - 2] for number in axes)
            raise ValueError(f"{file} must hold a set {rule}, got shape {shape}")
        if not expected:
            expected, first = shape[1:], file
            if how.channels is not None:
                expected, first = (how.channels, how.length or shape[-1])[: len(shape) - 1], ""
        _check_elements(file, shape[1:], expected, first)
        if shape[0]:
            kept.append(one)
            counts.append(shape[0])
            orders.append(order)
        else:
            skipped.append((one.name, "no elements"))
    if not kept:
        raise wrong or ValueError(f"{sets[0].files[0]} must hold elements, found none")
    files = [one.files[0] for one in kept]
    _check_all_finite(files)
    length = expected[1] if len(expected) == 2 else None
    kind = AXES[len(expected) + 1]
    how = replace(how, kind=kind, channels=expected[0], length=length, columns=columns)
    return Examined(kept, ArrayStore(files, counts, expected, orders), how, skipped=skipped)


def examine_table(sets: list[FoundSet], store: TableStore, how: Preparation) -> Examined:
    """Look at the sets of a table; raise ValueError unless they are the vectors asked for."""
    path, shape = sets[0].files[0], store.blank.shape
    if how.kind not in (None, "vectors"):
        raise ValueError(f"kind must be 'vectors' for the table {path}, got {how.kind!r}")
    if (order := column_order(path, store.columns, how.columns or (), _like(""))) is not None:
        store = store.reordered(order)
    if how.channels is not None:
        _check_elements(path, shape, (how.channels,), "")
    how = replace(how, kind="vectors", channels=shape[0], columns=store.columns)
    return Examined(sets, store, how)


def _like(first: str) -> str:
    """Say where a rule about a file comes from: another file, or a network."""
    return f", like {first}" if first else ", as the network was trained with"


def _check_elements(
    file: str, element: tuple[int, ...], expected: tuple[int, ...], first: str
) -> None:
    """Raise ValueError unless elements have the shape of those of another file or a network."""
    if element != expected:
        what = "vectors" if len(expected) == 1 else "signals"
        raise ValueError(
            f"{file} must hold {what} of shape {expected}{_like(first)}, got {element}"
        )


def _examine_clouds(sets: Sequence[FoundSet], how: Preparation) -> Examined:
    skipped: Skips = []
    bad: dict[str, str] = {}
    channels, first = how.channels, ""
    for file in (file for one in sets for file in one.files):
        try:
            shape = array_shape(file)
        except ValueError:
            bad[file] = UNREADABLE
            continue
        if len(shape) != 2:
            raise ValueError(f"{file} must be a cloud (P, C), got shape {shape}")
        if shape[0] == 0:
            bad[file] = "without points"
            continue
        channels, first = channels or shape[1], first or file
        if shape[1] != channels:
            raise ValueError(
                f"{file} must hold points of {channels} numbers, like {first} or the network to be "
                f"used, got {shape[1]}"
            )
    kept = _keep(sets, bad, skipped)
    assert channels is not None
    _check_all_finite(file for one in kept for file in one.files)
    blank = np.zeros((1, channels), np.float32)
    read = partial(read_cloud, channels=channels)
    store = Store([one.files for one in kept], read, blank, alike=False)
    return Examined(kept, store, replace(how, kind="clouds", channels=channels), skipped=skipped)


def _check_all_finite(files: Iterable[str]) -> None:
    """Raise ValueError for the first NaN; in large folders, rows are looked at when read."""
    left = CHECKED
    for file in files:
        left -= os.path.getsize(file)
        if left < 0:
            return
        check_finite(file, read_numbers(file))
