"""Read the triangles of a binary glTF 2.0 file."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["read_glb"]

TYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
JSON, BINARY = 0x4E4F534A, 0x004E4942
TRIANGLES = 4


def read_glb(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices and triangles of all meshes of the scene, moved by their nodes."""
    tree, binary = _chunks(path.read_bytes())
    needed = tree.get("extensionsRequired", [])
    if needed:
        raise ValueError(f"it needs the extensions {needed}, which are not supported")
    vertices, faces, total = [np.empty((0, 3))], [np.empty((0, 3), dtype=np.int64)], 0
    for mesh, matrix in _placed(tree):
        for part in tree["meshes"][mesh]["primitives"]:
            if part.get("mode", TRIANGLES) != TRIANGLES:
                continue  # points, lines, strips
            found = _array(tree, binary, part["attributes"]["POSITION"]).astype(np.float64)
            if "indices" in part:
                corners = _array(tree, binary, part["indices"]).astype(np.int64)[:, 0]
            else:
                corners = np.arange(len(found))
            vertices.append(found @ matrix[:3, :3].T + matrix[:3, 3])
            faces.append(corners[: len(corners) // 3 * 3].reshape(-1, 3) + total)
            total += len(found)
    return np.concatenate(vertices), np.concatenate(faces)


def _chunks(content: bytes) -> tuple[dict[str, Any], bytes]:
    if content[:4] != b"glTF" or len(content) < 20:
        raise ValueError("it does not begin with the header of a binary glTF file")
    found, at = {}, 12
    while at + 8 <= len(content):
        length, kind = struct.unpack_from("<II", content, at)
        found[kind] = content[at + 8 : at + 8 + length]
        at += 8 + length
    if JSON not in found:
        kinds = [f"{kind:#010x}" for kind in found]
        raise ValueError(f"it must have a chunk of JSON, found chunks of the kinds {kinds}")
    return json.loads(found[JSON]), found.get(BINARY, b"")


def _array(tree: dict[str, Any], binary: bytes, which: int) -> np.ndarray:
    """Return the numbers of an accessor, ``(count, width)``."""
    accessor = tree["accessors"][which]
    if "sparse" in accessor or "bufferView" not in accessor:
        raise ValueError("it has sparse accessors, which are not supported")
    view = tree["bufferViews"][accessor["bufferView"]]
    if "uri" in tree["buffers"][view["buffer"]]:
        raise ValueError("it refers to other files, which is not supported")
    kind, width = np.dtype(TYPES[accessor["componentType"]]), WIDTHS[accessor["type"]]
    stride = view.get("byteStride", width * kind.itemsize)
    start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    shape, steps = (accessor["count"], width), (stride, kind.itemsize)
    if start + (shape[0] - 1) * stride + width * kind.itemsize > len(binary):
        raise ValueError("it ends too early")
    return np.ndarray(shape, kind, binary, start, steps)


def _placed(tree: dict[str, Any]) -> list[tuple[int, np.ndarray]]:
    """Return every mesh that the scene shows, with the matrix of where it is."""
    nodes, scenes = tree.get("nodes", []), tree.get("scenes", [])
    roots = scenes[tree.get("scene", 0)].get("nodes", []) if scenes else range(len(nodes))
    if not nodes:
        return [(mesh, np.eye(4)) for mesh in range(len(tree.get("meshes", [])))]
    found, open_ = [], [(root, np.eye(4), 0) for root in roots]
    while open_:
        which, above, depth = open_.pop()
        if depth > len(nodes):
            raise ValueError("its nodes contain each other")
        matrix = above @ _matrix(nodes[which])
        if "mesh" in nodes[which]:
            found.append((nodes[which]["mesh"], matrix))
        open_ += [(child, matrix, depth + 1) for child in nodes[which].get("children", [])]
    return found


def _matrix(node: dict[str, Any]) -> np.ndarray:
    if "matrix" in node:
        return np.array(node["matrix"], dtype=np.float64).reshape(4, 4).T
    x, y, z, w = node.get("rotation", (0, 0, 0, 1))
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    matrix = np.eye(4)
    matrix[:3, :3] = turn * np.array(node.get("scale", (1, 1, 1)))
    matrix[:3, 3] = node.get("translation", (0, 0, 0))
    return matrix
