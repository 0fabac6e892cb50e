"""Arrays of numbers in files: ``.npy .npz .csv .parquet .h5``, and clouds ``.xyz .ply .off``."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from symsets._extras import require
from symsets._files import check_regular, named_errors
from symsets.data._arrays import read_arrays
from symsets.data.set_folder.labels import read_csv
from symsets.data.set_folder.layouts import suffix_of

NAMES = ("x", "features", "feats", "data")  # of the array to take where a file has several

Array = np.ndarray[Any, np.dtype[Any]]


def array_shape(path: str) -> tuple[int, ...]:
    """Return the shape of the array in a file; only of a table of text are the contents read."""
    file = Path(path)
    with named_errors(file):
        check_regular(file)
        suffix = suffix_of(path)
        if suffix == ".npy":
            return _open_npy(file).shape
        if suffix == ".npz":
            return _npz_shape(file)
        if suffix in (".h5", ".hdf5"):
            with require("h5py", "tables").File(file) as content:
                return tuple(content[_the_array(content)].shape)
        if suffix == ".parquet":
            found = require("pyarrow.parquet", "tables").ParquetFile(file)
            return found.metadata.num_rows, found.metadata.num_columns
        return read_array(path).shape


def column_names(path: str) -> tuple[str, ...]:
    """Return what a table of a set calls its columns; nothing if names are missing or not clear."""
    file, suffix = Path(path), suffix_of(path)
    names: list[str] = []
    with named_errors(file):
        if suffix == ".parquet":
            names = require("pyarrow.parquet", "tables").ParquetFile(file).schema_arrow.names
        elif suffix == ".csv":
            _, first = next(read_csv(file), (0, []))
            names = first if _is_header(first) else []
    return tuple(names) if len(set(names)) == len(names) else ()


def column_order(
    where: str, names: Sequence[str], wanted: Sequence[str], like: str
) -> list[int] | None:
    """Return the place in ``names`` of each column that is wanted; None where no names are known.

    Raise ValueError naming the first column that is missing, or not wanted; ``like`` ends the rule.
    """
    if not names or not wanted:
        return None
    if missing := [name for name in wanted if name not in names]:
        raise ValueError(f"{where} must have a column {missing[0]!r}{like}, found none")
    if extra := [name for name in names if name not in wanted]:
        raise ValueError(f"{where} must have no column {extra[0]!r} beside the others{like}")
    return [names.index(name) for name in wanted]


def read_array(path: str) -> Array:
    """Read the array in a file as float32; raise ValueError unless it holds numbers."""
    with np.errstate(over="ignore"):  # infinities are looked for later
        return np.array(read_numbers(path), dtype=np.float32, order="C")  # files are read-only


def read_numbers(path: str) -> Array:
    """Read the array in a file as it is; raise ValueError unless it holds numbers."""
    file = Path(path)
    with named_errors(file):
        check_regular(file)
        return _numbers(_read(file, suffix_of(path)))


def read_cloud(path: str, channels: int) -> Array:
    """Read a cloud ``(P, C)``; raise ValueError unless it has finite numbers, C for each point."""
    values = read_array(path)
    if values.shape[1:] != (channels,) or not np.isfinite(values).all():
        raise ValueError(f"{path} must have {channels} finite numbers for each point")
    return values


def _numbers(array: Array) -> Array:
    if array.dtype.kind not in "fiub":
        raise ValueError(f"it must hold numbers, got {array.dtype}")
    return array


def _read(file: Path, suffix: str) -> Array:
    if suffix == ".npy":
        return _open_npy(file)
    if suffix == ".npz":
        with np.load(file, allow_pickle=False) as archive:
            name = _choose(archive.files)
        return read_arrays(file, {}, [name])[name]
    if suffix in (".h5", ".hdf5"):
        with require("h5py", "tables").File(file) as content:
            return np.asarray(content[_the_array(content)])
    if suffix == ".parquet":
        table = require("pyarrow.parquet", "tables").read_table(file)
        return np.stack([column.to_numpy() for column in table.columns], axis=1)
    if suffix in (".ply", ".off"):
        found = require("trimesh", "meshes").load(file, process=False)
        return np.asarray(found.vertices)
    return _read_text(file, suffix)


def _open_npy(file: Path) -> Array:
    """Map an array into memory; a file that is shorter than its header says is refused."""
    return _numbers(np.lib.format.open_memmap(file, mode="r"))


def _npz_shape(file: Path) -> tuple[int, ...]:
    with zipfile.ZipFile(file) as archive:
        name = _choose([entry.removesuffix(".npy") for entry in archive.namelist()])
        with archive.open(f"{name}.npy") as content:
            version = np.lib.format.read_magic(content)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            return tuple(read(content)[0])


def _the_array(content: Any) -> str:
    return _choose([name for name in content if hasattr(content[name], "shape")])


def _choose(names: Collection[str]) -> str:
    found = list(names) if len(names) == 1 else [name for name in NAMES if name in names]
    if not found:
        raise ValueError(f"it must hold one array, or one of {NAMES}, got {sorted(names)}")
    return found[0]


def _read_text(file: Path, suffix: str) -> Array:
    """Read numbers, in columns of a CSV with or without a header, or between spaces."""
    if suffix == ".xyz":
        return np.loadtxt(file, ndmin=2)
    lines = list(read_csv(file))
    if lines and _is_header(lines[0][1]):
        lines = lines[1:]
    rows = []
    for line, cells in lines:
        try:
            rows.append([float(cell) for cell in cells])
        except ValueError as error:
            raise ValueError(f"{file}, line {line}: must hold numbers only: {error}") from None
    return np.array(rows).reshape(len(rows), -1 if rows else 0)


def _is_header(cells: Sequence[str]) -> bool:
    return not any(_is_float(cell) for cell in cells)


def _is_float(cell: str) -> bool:
    with suppress(ValueError):
        float(cell)
        return True
    return False


def check_finite(what: str, array: Array) -> None:
    """Raise ValueError naming what holds a number that is not finite in float32, and its row."""
    with np.errstate(over="ignore"):
        finite = np.isfinite(array.astype(np.float32)).reshape(len(array), -1)
    if finite.all():
        return
    row = int(finite.all(1).argmin())
    value = array[row].reshape(-1)[finite[row].argmin()]
    found = f"{value:g}, too large for float32," if np.isfinite(value) else "NaN or infinity"
    raise ValueError(f"{what} must hold finite numbers, found {found} in row {row} (from 0)")
