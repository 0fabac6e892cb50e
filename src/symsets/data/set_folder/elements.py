"""Look at the elements of sets before any is needed: what can be used, and what it is like."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from symsets.data.decoding import UnusableError, quiet
from symsets.data.images import IMAGE_SUFFIXES
from symsets.data.set_folder.arrays import array_shape, check_finite, read_array
from symsets.data.set_folder.layouts import FoundSet, suffix_of
from symsets.data.set_folder.pictures import Decoder, Header, default_shape, read_header
from symsets.data.set_folder.preparation import Preparation
from symsets.data.set_folder.stores import ArrayStore, CloudStore, PictureStore, Store

CHECKED = 2**28  # bytes of arrays that are read whole at the start, to find NaNs before training
AXES = {"vectors": "(N, C)", "signals": "(N, C, L)"}
UNKNOWN = "of an unknown kind"
Skips = list[tuple[str, str]]


@dataclass
class Examined:
    """The sets that are left, and how to read them.

    Attributes:
        sets: Those with usable elements.
        store: Their elements.
        how: How elements are prepared, all of it known.
        pictures: Their targets, if they are pictures.
        skipped: What was left out, and why.
    """

    sets: list[FoundSet]
    store: Store
    how: Preparation
    pictures: Store | None = None
    skipped: Skips = field(default_factory=list)


def kind_of(sets: Sequence[FoundSet]) -> str:
    """Return what the files of sets are: pictures, arrays or clouds.

    Raises:
        ValueError: They are not all of one kind.
    """
    found: dict[str, str] = {}
    for one in sets:
        for file in one.files:
            is_picture = suffix_of(file) in IMAGE_SUFFIXES
            found.setdefault(
                "arrays" if one.whole else "pictures" if is_picture else "clouds", file
            )
    if len(found) > 1:
        one_file, other, *_ = found.values()
        raise ValueError(f"sets must all be of one kind, found {one_file} and {other}")
    if not found:
        raise ValueError(
            f"set {sets[0].name!r} must hold pictures or clouds, found no such file in any set"
        )
    return next(iter(found))


def examine(sets: Sequence[FoundSet], how: Preparation) -> Examined:
    """Look at every element: pictures by their headers, arrays by their shapes.

    Raises:
        ValueError: Elements do not fit together, or none is usable.
    """
    kind = kind_of(sets)
    fits = {"pictures": ("pictures",), "clouds": ("clouds",), "arrays": ("vectors", "signals")}
    if how.kind is not None and how.kind not in fits[kind]:
        file = next(file for one in sets for file in one.files)
        raise ValueError(
            f"kind must be one of {list(fits[kind])} for {file}, got {how.kind!r}, which was asked "
            "for or is what the network was trained on"
        )
    steps: dict[str, Callable[[Sequence[FoundSet], Preparation], Examined]] = {
        "pictures": _examine_pictures,
        "clouds": _examine_clouds,
        "arrays": _examine_arrays,
    }
    found = steps[kind](sets, how)
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
            raise ValueError(
                f"{one.target} must have the size of its shots, {w}×{h} pixels, got "
                f"{width}×{height}"
            )
    used = [headers[file] for file in (*(file for one in kept for file in one.files), *merged)]
    channels = how.channels or (1 if all(header.grey for header in used) else 3)
    size = how.size or default_shape([header.shape for header in used])
    deep = channels == 1 and any(header.deep for header in used)
    decode = Decoder(size, how.resize, channels, deep)
    targets = PictureStore([(file,) for file in merged], decode) if merged else None
    return Examined(
        kept,
        PictureStore([one.files for one in kept], decode),
        replace(how, kind="pictures", size=size, channels=channels),
        targets,
        skipped,
    )


def _examine_arrays(sets: Sequence[FoundSet], how: Preparation) -> Examined:
    files = [one.files[0] for one in sets]
    shapes = [_set_shape(file, array_shape(file), how.kind) for file in files]
    expected: tuple[int | None, ...] = shapes[0][1:]
    if how.channels is not None:
        expected = (how.channels, how.length or shapes[0][-1])[: len(shapes[0]) - 1]
    first = files[0] if how.channels is None else ""
    for file, shape in zip(files, shapes, strict=True):
        check_elements(file, shape[1:], expected, first)
    skipped = [
        (one.name, "no elements") for one, shape in zip(sets, shapes, strict=True) if not shape[0]
    ]
    kept = [(one, shape) for one, shape in zip(sets, shapes, strict=True) if shape[0]]
    if not kept:
        raise ValueError(f"{files[0]} must hold elements, found none, nor in any other file")
    _check_all_finite(one.files[0] for one, _ in kept)
    element = shapes[0][1:]
    return Examined(
        [one for one, _ in kept],
        ArrayStore([one.files[0] for one, _ in kept], [shape[0] for _, shape in kept], element),
        replace(
            how,
            kind="signals" if len(element) == 2 else "vectors",
            channels=element[0],
            length=element[1] if len(element) == 2 else None,
        ),
        skipped=skipped,
    )


def _set_shape(file: str, shape: tuple[int, ...], kind: str | None) -> tuple[int, ...]:
    if kind == "vectors" and len(shape) == 3 and shape[0] == 1:
        shape = shape[1:]  # some writers put a batch axis first
    axes = {None: (2, 3), "vectors": (2,), "signals": (3,)}[kind]
    if len(shape) not in axes:
        rule = " or ".join(AXES[word] for word in ([kind] if kind else AXES))
        raise ValueError(f"{file} must hold a set {rule}, got shape {shape}")
    return shape


def check_elements(
    file: str, element: tuple[int, ...], expected: tuple[int | None, ...], first: str
) -> None:
    """Raise ValueError unless elements have the shape of those of another file or a network."""
    if element != expected:
        what = "vectors" if len(expected) == 1 else "signals"
        like = f", like {first}" if first else ", as the network was trained with"
        raise ValueError(f"{file} must hold {what} of shape {expected}{like}, got {element}")


def _examine_clouds(sets: Sequence[FoundSet], how: Preparation) -> Examined:
    skipped: Skips = []
    bad: dict[str, str] = {}
    channels, first = how.channels, ""
    for file in (file for one in sets for file in one.files):
        try:
            shape = array_shape(file)
        except ValueError:
            bad[file] = "not readable"
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
    store = CloudStore([one.files for one in kept], channels)
    return Examined(kept, store, replace(how, kind="clouds", channels=channels), skipped=skipped)


def _check_all_finite(files: Iterable[str]) -> None:
    """Raise ValueError for the first NaN; in large folders, rows are looked at when read."""
    left = CHECKED
    for file in files:
        left -= os.path.getsize(file)
        if left < 0:
            return
        check_finite(file, read_array(file))
