"""Bodies that move: sequences of meshes with consistent vertices, and what every source offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from symsets.experiments.synthetic.generated import Device
from symsets.nn import Graph


class Motions(NamedTuple):
    """Shapes of all sequences end to end; vertex v is the same place of the body in all of them.

    Attributes:
        shapes: ``(T, 3, V)``, coordinates in metres.
        lengths: Frames of each sequence, ``(M,)``, on the host.
        names: What each sequence is called.
        faces: The triangles ``(F, 3)`` that all shapes share, or None for points alone.

    Example:
        >>> walk, run = torch.zeros(4, 3, 5), torch.ones(6, 3, 5)
        >>> motions = Motions.join([walk, run], ["ann_walk", "bo_run"])
        >>> motions.lengths.tolist(), motions.starts.tolist()
        ([4, 6], [0, 4])
        >>> motions.num_vertices
        5
    """

    shapes: Tensor
    lengths: Tensor
    names: Sequence[str]
    faces: Tensor | None = None

    @classmethod
    def join(
        cls, sequences: Sequence[Tensor], names: Sequence[str], *, faces: Tensor | None = None
    ) -> Motions:
        """Check sequences, ``(L, 3, V)`` each, and lay them end to end."""
        if not sequences:
            raise ValueError("sequences must hold at least one sequence, got none")
        num_vertices = sequences[0].shape[-1]
        for name, sequence in zip(names, sequences, strict=True):
            _check_motion(name, sequence, num_vertices)
        _check_faces(names[0], faces, num_vertices)
        lengths = torch.tensor([len(sequence) for sequence in sequences])
        return cls(torch.cat(list(sequences)), lengths, names, faces)

    @property
    def starts(self) -> Tensor:
        """The shape at which each sequence starts, ``(M,)``, on the host."""
        return self.lengths.cumsum(0) - self.lengths

    @property
    def num_vertices(self) -> int:
        """Vertices of every shape."""
        return self.shapes.shape[-1]

    @property
    def graph(self) -> Graph:
        """The edges of the mesh, with the normalisation of the paper, where the shapes are."""
        if self.faces is None:
            raise ValueError("motions must have faces to make a graph of, got points alone")
        return Graph.from_faces(self.faces.long(), self.num_vertices).to(self.shapes.device)


class MotionSource(Protocol):
    """Motions in three splits; those of the test show unseen subjects in unseen activities.

    Attributes:
        name: What tables call the data.
        skip: How many frames further the next element of a set is, by default.
    """

    name: str
    skip: int

    def motions(self, split: str, num: int | None = None, device: Device = "cpu") -> Motions:
        """Return the first ``num`` sequences of a split, or all; perhaps fewer but never none."""
        ...


def _check_motion(name: str, shapes: Tensor, num_vertices: int) -> None:
    """Raise ValueError naming the sequence unless it is ``(L, 3, num_vertices)`` and finite."""
    if shapes.ndim != 3 or shapes.shape[1] != 3 or 0 in shapes.shape:
        raise ValueError(
            f"sequence {name!r} must be (frames, 3, vertices), got shape {tuple(shapes.shape)}"
        )
    if shapes.shape[2] != num_vertices:
        raise ValueError(
            f"sequence {name!r} must have {num_vertices} vertices like the others, "
            f"got {shapes.shape[2]}"
        )
    finite = shapes.flatten(1).isfinite().all(1)
    if not finite.all():
        frame = int(finite.int().argmin())
        got = "NaN" if shapes[frame].isnan().any() else "infinity"
        raise ValueError(f"sequence {name!r} must have finite vertices, got {got} in frame {frame}")


def _check_faces(name: str, faces: Tensor | None, num_vertices: int) -> None:
    """Raise ValueError naming a sequence unless ``faces`` join vertices that it has."""
    if faces is None:
        return
    if faces.ndim != 2 or faces.shape[1] != 3 or faces.is_floating_point():
        raise ValueError(
            f"faces of {name!r} must be (F, 3) integers, "
            f"got {faces.dtype} of shape {tuple(faces.shape)}"
        )
    if faces.numel() and not 0 <= int(faces.min()) <= int(faces.max()) < num_vertices:
        wrong = int(faces.min()) if faces.min() < 0 else int(faces.max())
        raise ValueError(
            f"faces of {name!r} must point to its vertices 0..{num_vertices - 1}, got {wrong}"
        )
