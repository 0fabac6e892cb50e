"""Read the vertices and triangles of mesh files; whatever else they hold is skipped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from symsets.experiments.views._glb import read_glb

__all__ = ["MESH_SUFFIXES", "read_mesh"]

MESH_SUFFIXES = (".obj", ".ply", ".glb")
TYPES = {
    "char": "i1",
    "int8": "i1",
    "uchar": "u1",
    "uint8": "u1",
    "short": "i2",
    "int16": "i2",
    "ushort": "u2",
    "uint16": "u2",
    "int": "i4",
    "int32": "i4",
    "uint": "u4",
    "uint32": "u4",
    "float": "f4",
    "float32": "f4",
    "double": "f8",
    "float64": "f8",
}
ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": "="}
Mesh = tuple[np.ndarray, np.ndarray]


def read_mesh(path: Path) -> Mesh:
    """Return vertices ``(V, 3)`` as doubles and triangles ``(T, 3)`` as indices."""
    readers = {".obj": _read_obj, ".ply": _read_ply, ".glb": read_glb}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"{path} must end in one of {list(readers)}")
    if not path.is_file():
        raise ValueError(f"{path} must be a mesh file, found no such file")
    try:
        vertices, faces = reader(path)
    except KeyError as error:
        raise ValueError(f"{path} cannot be read as a mesh: missing or unknown {error}") from error
    except (ValueError, IndexError, TypeError, AttributeError, OSError, EOFError) as error:
        raise ValueError(f"{path} cannot be read as a mesh: {error}") from error
    if len(faces) and not (faces.min() >= 0 and faces.max() < len(vertices)):
        raise ValueError(f"{path} must have faces of its {len(vertices)} vertices only")
    return vertices, faces


def _fans(polygons: Iterable[Sequence[int]]) -> np.ndarray:
    """Cut polygons into triangles that share their first corner."""
    cut = [(p[0], p[k], p[k + 1]) for p in polygons for k in range(1, len(p) - 1)]
    return np.array(cut, dtype=np.int64).reshape(-1, 3)


def _read_obj(path: Path) -> Mesh:
    """Read ``v x y z`` and ``f a b c …``, with ``a``, ``a/t`` or ``a/t/n``, also from the end."""
    vertices: list[list[float]] = []
    polygons: list[list[int]] = []
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in _continued(lines):
            words = line.split()
            if not words:
                continue
            if words[0] == "v":
                vertices.append([float(word) for word in words[1:4]])
            elif words[0] == "f":
                numbers = [int(word.partition("/")[0]) for word in words[1:]]
                polygons.append([n - 1 if n > 0 else n + len(vertices) for n in numbers])
    return np.array(vertices, dtype=np.float64).reshape(-1, 3), _fans(polygons)


def _continued(lines: Iterable[str]) -> Iterator[str]:
    """Join lines that end in a backslash with the next; a comment ends with its line."""
    begun = ""
    for line in lines:
        begun += line.rstrip("\n")
        if begun.endswith("\\") and not begun.startswith("#"):
            begun = begun[:-1] + " "
        else:
            yield begun
            begun = ""
    yield begun


def _read_ply(path: Path) -> Mesh:
    """Read text or binary; faces are lists called ``vertex_indices`` or ``vertex_index``."""
    content = path.read_bytes()
    head, end, body = content.partition(b"end_header")
    if not content.startswith(b"ply") or not end:
        raise ValueError("it does not begin with the header of a PLY file")
    body = body[body.index(b"\n") + 1 :]
    order, elements = _ply_header(head.decode("ascii", "replace"))
    read = _TextPly(body) if order == "=" else _BinaryPly(body, order)
    vertices, polygons = np.empty((0, 3)), np.empty((0, 3), dtype=np.int64)
    for name, count, properties in elements:
        table = read.element(count, properties)
        if name == "vertex":
            vertices = np.stack([np.asarray(table[axis], dtype=np.float64) for axis in "xyz"], 1)
        elif name == "face":
            key = next((key for key in table if key.startswith("vertex_ind")), None)
            polygons = _fans(table[key]) if key else polygons
    return vertices, polygons


Property = tuple[str, str, str | None]  # name, type, and the type of the length of a list


def _ply_header(head: str) -> tuple[str, list[tuple[str, int, list[Property]]]]:
    order, elements = "", []
    for line in head.splitlines():
        words = line.split()
        if words[:1] == ["format"]:
            order = ORDERS[words[1]]
        elif words[:1] == ["element"]:
            elements.append((words[1], int(words[2]), list[Property]()))
        elif words[:2] == ["property", "list"]:
            elements[-1][2].append((words[4], TYPES[words[3]], TYPES[words[2]]))
        elif words[:1] == ["property"]:
            elements[-1][2].append((words[2], TYPES[words[1]], None))
    return order, elements


class _BinaryPly:
    def __init__(self, body: bytes, order: str) -> None:
        self.body, self.order, self.at = body, order, 0

    def _take(self, kind: str, count: int) -> np.ndarray:
        found = np.frombuffer(self.body, self.order + kind, count, self.at)
        self.at += found.nbytes
        return found

    def element(self, count: int, properties: list[Property]) -> dict[str, Any]:
        """Return the columns of an element; lists are read one by one."""
        if not any(length for _, _, length in properties):
            row = np.dtype([(name, self.order + kind) for name, kind, _ in properties])
            rows = np.frombuffer(self.body, row, count, self.at)
            self.at += rows.nbytes
            return {name: rows[name] for name, _, _ in properties}
        table: dict[str, Any] = {name: [] for name, _, _ in properties}
        for _ in range(count):
            for name, kind, length in properties:
                num = int(self._take(length, 1)[0]) if length else 1
                found = self._take(kind, num).tolist()
                table[name].append(found if length else found[0])
        return table


class _TextPly:
    def __init__(self, body: bytes) -> None:
        self.words = iter(body.split())

    def element(self, count: int, properties: list[Property]) -> dict[str, Any]:
        """Return the columns of an element."""
        table: dict[str, Any] = {name: [] for name, _, _ in properties}
        for _ in range(count):
            for name, kind, length in properties:
                num = int(self._next()) if length else 1
                found = [float(self._next()) for _ in range(num)]
                whole = [int(f) for f in found] if kind[0] != "f" else found
                table[name].append(whole if length else whole[0])
        return table

    def _next(self) -> bytes:
        word = next(self.words, None)
        if word is None:
            raise EOFError("it ends too early")
        return word
