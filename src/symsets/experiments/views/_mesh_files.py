"""Read the vertices and triangles of mesh files; whatever else they hold is skipped.

trimesh reads GLB, OFF, PLY and STL. OBJ is read here, because trimesh (5.2) returns other triangles
for common files: it counts negative indices from the end of the file instead of from the line, and
skips lines with tabs or an indent.
"""

import io
import json
import re
from pathlib import Path

import numpy as np

from symsets._extras import require
from symsets._files import named_errors

MESH_SUFFIXES = (".obj", ".ply", ".glb", ".off", ".stl")
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
        read = _read_obj(content) if suffix == ".obj" else _read_with_trimesh(content, suffix)
        vertices, faces = read
    if len(faces) and not (faces.min() >= 0 and faces.max() < len(vertices)):
        raise ValueError(f"{path} must have faces of its {len(vertices)} vertices only")
    return vertices, faces


def _read_with_trimesh(content: bytes, suffix: str) -> Mesh:
    trimesh = require("trimesh", "meshes")
    if suffix == ".ply":
        _check_ply(content)
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


def _check_ply(content: bytes) -> None:
    """Refuse text that breaks off: trimesh would take what there is."""
    head, _, body = content.partition(b"end_header")
    if b"format ascii" not in head:
        return
    elements = re.findall(rb"^element (\w+) (\d+)", head, re.MULTILINE)
    lines = [line.split() for line in body.splitlines() if line.strip()]
    short = elements[-1][0] == b"face" and lines and len(lines[-1]) <= int(lines[-1][0])
    if short or len(lines) < sum(int(count) for _, count in elements):
        raise ValueError("it ends too early")


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
    cut = [(p[0], p[k], p[k + 1]) for p in polygons for k in range(1, len(p) - 1)]
    corners, triangles = (np.array(rows).reshape(-1, 3) for rows in (vertices, cut))
    return corners.astype(np.float64), triangles.astype(np.int64)
