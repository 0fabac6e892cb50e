"""Objects of the user: meshes in files, normalised and seen from random cameras."""

import os
from pathlib import Path

import torch
from torch import Tensor

from symsets.data.folders import split_folder
from symsets.experiments.synthetic.generated import Device
from symsets.experiments.synthetic.random import Draws, name_keys, uniform
from symsets.experiments.views._mesh_files import MESH_SUFFIXES, read_mesh
from symsets.experiments.views.cameras import random_cameras
from symsets.experiments.views.rendering import take_pictures
from symsets.experiments.views.sets import Views, ViewSource
from symsets.experiments.views.shading import random_look
from symsets.experiments.views.triangles import cast_triangles

POINTS = 1 << 21  # stream of the random numbers of surface points
LEAST_AREA = 1e-7  # of a mesh of diagonal 1; thinner ones are lost in float32
ANY_COLOUR = ((0.5, 0.6, 0.65), (0.5, 0.3, 0.25))


def load_mesh(path: str | os.PathLike[str]) -> Tensor:
    """Read the triangles of an OBJ, PLY, GLB, OFF or STL file, ``(T, 3, 3)``.

    They are scaled and moved so that the tight bounding box is in the middle of the unit cube and
    has a diagonal of 1. Colours and textures in the file are ignored.
    """
    path = Path(path)
    vertices, faces = read_mesh(path)
    if not len(faces):
        raise ValueError(f"{path} must have faces, found {len(vertices)} vertices and no face")
    corners = torch.from_numpy(vertices[faces])
    low, high = corners.amin((0, 1)), corners.amax((0, 1))
    mesh = (corners - (low + high) / 2) / (high - low).norm() + 0.5
    if not _doubled_areas(mesh).sum() >= 2 * LEAST_AREA:  # nor if one is not a number
        raise ValueError(f"{path} must have an area, and finite coordinates that are not too large")
    return mesh


def render_mesh(
    mesh: Tensor,
    name: str,
    *,
    num_views: int = 3,
    size: int = 64,
    num_points: int = 0,
    device: Device = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Views:
    """Take pictures of a mesh ``(T, 3, 3)``, as :func:`make_views` does of generated objects.

    Its triangles are in normalised coordinates. Cameras, colours and lights depend on nothing but
    its name; points of its surface may lie inside.
    """
    keys = name_keys([name], device=device)
    corners = mesh.to(device, dtype)
    ends = torch.stack([mesh.amin((0, 1)), mesh.amax((0, 1))], dim=1)
    box = torch.cartesian_prod(*ends)  # (8, 3)
    cameras = random_cameras(keys, num_views, box[None].to(device, dtype))
    hits = cast_triangles(corners, cameras, size)
    look = random_look(Draws(keys, dtype), torch.tensor([ANY_COLOUR]))

    def surface(x: Tensor) -> tuple[Tensor, Tensor]:
        albedo = look.albedo(torch.zeros_like(hits.part.flatten(1)), x)
        return albedo, _facing(corners, hits.part, cameras.directions(size).mT).flatten(1, 2)

    points = _sample(mesh.double(), keys, num_points)[None].to(device, dtype)
    pictures = take_pictures(hits, surface, cameras, keys, size)
    return Views(*pictures, points if num_points else None)


def _doubled_areas(mesh: Tensor) -> Tensor:
    a, b, c = mesh.unbind(1)
    return torch.linalg.cross(b - a, c - a).norm(dim=-1)


def _facing(corners: Tensor, face: Tensor, direction: Tensor) -> Tensor:
    """Return the unit normals of faces on the side that is seen, ``(B, N, R, 3)``."""
    a, b, c = corners.unbind(1)
    normal = torch.linalg.cross(b - a, c - a)
    normal = (normal / normal.norm(dim=-1, keepdim=True).clamp_min(1e-30))[face]
    away = (normal * direction).sum(-1, keepdim=True) > 0
    return torch.where(away, -normal, normal)


def _sample(mesh: Tensor, keys: Tensor, num: int) -> Tensor:
    """Return points spread evenly over all triangles of a mesh, ``(num, 3)``."""
    pick, s, t = uniform(keys, 3 * num, stream=POINTS).cpu().double().reshape(3, num)
    a, b, c = mesh.unbind(1)
    edges = _doubled_areas(mesh).cumsum(0)
    which = torch.searchsorted(edges, pick * edges[-1], right=True).clamp_max(len(mesh) - 1)
    s, t = torch.where(s + t > 1, 1 - s, s)[:, None], torch.where(s + t > 1, 1 - t, t)[:, None]
    return a[which] + s * (b - a)[which] + t * (c - a)[which]


class MeshFolder(ViewSource):
    """All OBJ, PLY, GLB, OFF and STL files below a folder.

    If the folder has subfolders ``train``, ``val`` and ``test``, these are the splits; otherwise
    a file's path below the folder decides (80, 10 and 10 %). Every mesh should stand the same
    way, since normalised coordinates are learnt with respect to it. Tables call the data by the
    name of the folder.
    """

    KIND = "meshes"

    def __init__(self, root: str | os.PathLike[str], *, size: int = 64) -> None:
        root = Path(root)
        super().__init__(root, root.resolve().name, split_folder(root, MESH_SUFFIXES), size=size)

    def read(self, name: str, num_views: int, num_points: int, device: Device) -> Views:
        path, size = self.root / name, self.size
        mesh = load_mesh(path)
        views = render_mesh(
            mesh, name, num_views=num_views, size=size, num_points=num_points, device=device
        )
        if not views.mask.any():
            raise ValueError(f"{path} must be seen, but no view of {size} px shows any of it")
        return views
