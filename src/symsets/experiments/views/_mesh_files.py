"""Read the vertices and triangles of mesh files; whatever else they hold is skipped.

trimesh reads GLB, OFF and STL. OBJ and PLY are read here, because trimesh (5.2) returns other
triangles or none for common files of these two kinds: in OBJ it counts negative indices from the
end of the file instead of from the line and skips lines with tabs or an indent; in PLY it refuses
binary files that mix triangles and quadrilaterals, and accepts text that ends too early.
"""

import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from symsets._extras import require
from symsets._files import named_errors

MESH_SUFFIXES = (".obj", ".ply", ".glb", ".off", ".stl")
PLY_TYPES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4",
    "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4",
    "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip
Mesh = tuple[np.ndarray, np.ndarray]


def read_mesh(path: Path) -> Mesh:
    """Return vertices ``(V, 3)`` as doubles and triangles ``(T, 3)`` as indices.

    Polygons are cut into triangles that share their first corner. Nothing but this one file is
    read, and nothing in it is executed. Whatever is wrong is a ValueError that names the file.
    """
    suffix = path.suffix.lower()
    if suffix not in MESH_SUFFIXES:
        raise ValueError(f"{path} must end in one of {list(MESH_SUFFIXES)}")
    if not path.is_file():
        raise ValueError(f"{path} must be a mesh file, found no such file")
    with named_errors(path, "cannot be read as a mesh"):
        content = path.read_bytes()
        if suffix in (".obj", ".ply"):
            vertices, faces = (_read_obj if suffix == ".obj" else _read_ply)(content)
        else:
            vertices, faces = _read_with_trimesh(content, suffix)
    if len(faces) and not (faces.min() >= 0 and faces.max() < len(vertices)):
        raise ValueError(f"{path} must have faces of its {len(vertices)} vertices only")
    return vertices, faces


def _read_with_trimesh(content: bytes, suffix: str) -> Mesh:
    trimesh = require("trimesh", "meshes")
    in_scene = _check_glb(content) if suffix == ".glb" else True
    scene = trimesh.load_scene(
        io.BytesIO(content), file_type=suffix[1:], process=False, skip_materials=True
    )
    if in_scene:
        mesh = scene.to_mesh()  # all meshes of the scene, moved by their nodes
    else:
        mesh = trimesh.util.concatenate([trimesh.Trimesh(), *scene.geometry.values()])
    return np.asarray(mesh.vertices, np.float64), np.asarray(mesh.faces, np.int64).reshape(-1, 3)


def _check_glb(content: bytes) -> bool:
    """Refuse what trimesh would replace by zeros or look for in other files.

    Returns:
        Whether the file has a scene; it may hold meshes alone.
    """
    if content[:4] != b"glTF":
        raise ValueError("it does not begin with the header of a binary glTF file")
    header = json.loads(content[20 : 20 + int.from_bytes(content[12:16], "little")])
    if needed := header.get("extensionsRequired"):
        raise ValueError(f"it needs the extensions {needed}, which are not supported")
    if any("sparse" in a or "bufferView" not in a for a in header.get("accessors", [])):
        raise ValueError("it has sparse accessors, which are not supported")
    if any("uri" in buffer for buffer in header.get("buffers", [])):
        raise ValueError("it refers to other files, which is not supported")
    return "scenes" in header


def _fans(polygons: Iterable[Sequence[int]]) -> np.ndarray:
    """Cut polygons into triangles that share their first corner."""
    cut = [(p[0], p[k], p[k + 1]) for p in polygons for k in range(1, len(p) - 1)]
    return np.array(cut, dtype=np.int64).reshape(-1, 3)


def _read_obj(content: bytes) -> Mesh:
    """Read ``v x y z`` and ``f a b c …``, with ``a``, ``a/t`` or ``a/t/n``, also from the end."""
    vertices: list[list[float]] = []
    polygons: list[list[int]] = []
    begun = ""  # what lines that end in a backslash have so far
    for line in [*content.decode("utf-8", "replace").splitlines(), ""]:
        begun += line
        if begun.endswith("\\") and not begun.startswith("#"):
            begun = begun[:-1] + " "
            continue
        words, begun = begun.partition("#")[0].split(), ""
        if words[:1] == ["v"]:
            vertices.append([float(word) for word in words[1:4]])
        elif words[:1] == ["f"]:
            numbers = [int(word.partition("/")[0]) for word in words[1:]]
            polygons.append([n - 1 if n > 0 else n + len(vertices) for n in numbers])
    return np.array(vertices, dtype=np.float64).reshape(-1, 3), _fans(polygons)


def _read_ply(content: bytes) -> Mesh:
    """Read text or binary; faces are lists called ``vertex_indices`` or ``vertex_index``."""
    head, end, body = content.partition(b"end_header")
    if not content.startswith(b"ply") or not end:
        raise ValueError("it does not begin with the header of a PLY file")
    body = body[body.index(b"\n") + 1 :]
    lines = [line.split() for line in head.decode("ascii", "replace").splitlines()]
    kind = next((words[1] for words in lines if words[:1] == ["format"]), "of no format")
    order = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}[kind]
    values = _Values(body, order)
    vertices, faces = np.empty((0, 3)), np.empty((0, 3), dtype=np.int64)
    starts = [i for i, words in enumerate(lines) if words[:1] == ["element"]]
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        _, name, count = lines[start]
        properties = [words for words in lines[start + 1 : stop] if words[:1] == ["property"]]
        table = values.table(int(count), properties)
        if name == "vertex":
            vertices = np.stack([np.asarray(table[axis], dtype=np.float64) for axis in "xyz"], 1)
        elif name == "face":
            key = next((key for key in table if key.startswith("vertex_ind")), None)
            faces = _fans(table[key]) if key else faces
    return vertices, faces


class _Values:
    """The numbers of a PLY file one after the other, from words or from bytes in an order."""

    def __init__(self, body: bytes, order: str) -> None:
        self.order, self.at = order, 0
        self.body: Any = body if order else np.array(body.split(), dtype=np.float64)

    def table(self, count: int, properties: list[list[str]]) -> dict[str, Any]:
        """Read the columns of an element."""
        names = [words[-1] for words in properties]
        if any(words[1] == "list" for words in properties):
            rows = [[self._value(*words[1:-1]) for words in properties] for _ in range(count)]
            return {name: [row[k] for row in rows] for k, name in enumerate(names)}
        if not self.order:
            columns = self._take("double", count * len(names)).reshape(count, -1).T
            return dict(zip(names, columns, strict=True))
        kinds = [self.order + PLY_TYPES[words[1]] for words in properties]
        found = self._take_bytes(np.dtype(list(zip(names, kinds, strict=True))), count)
        return {name: found[name] for name in names}

    def _value(self, kind: str, *of_list: str) -> Any:
        """Read one number, or a list of them after its length."""
        if kind != "list":
            return self._take(kind, 1)[0]
        length, entry = of_list
        return self._take(entry, int(self._take(length, 1)[0])).tolist()

    def _take(self, kind: str, num: int) -> np.ndarray:
        if num < 0:
            raise ValueError(f"it has a list of {num} entries")
        if self.order:
            return self._take_bytes(np.dtype(self.order + PLY_TYPES[kind]), num)
        found = self.body[self.at : self.at + num]
        self.at += num
        if len(found) < num:
            raise ValueError("it ends too early")
        return found

    def _take_bytes(self, dtype: np.dtype[Any], num: int) -> np.ndarray:
        found = np.frombuffer(self.body, dtype, num, self.at)
        self.at += found.nbytes
        return found
