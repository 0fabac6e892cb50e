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
        num_vertices = sequences[0].shape[-1]
        for name, sequence in zip(names, sequences, strict=True):
            if sequence.shape[1:] != (3, num_vertices) or not len(sequence):
                got, wanted = tuple(sequence.shape), f"(frames, 3, {num_vertices})"
                raise ValueError(f"sequence {name!r} must be {wanted}, got shape {got}")
            if not sequence.isfinite().all():
                raise ValueError(f"sequence {name!r} must have finite vertices")
        if faces is not None:
            faces = checked_faces(names[0], faces, num_vertices)
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


def checked_faces(name: str, faces: Tensor, num_vertices: int) -> Tensor:
    """Raise ValueError naming a sequence unless ``faces (F, 3)`` join vertices that it has."""
    whole = not faces.is_floating_point() and faces.ndim == 2 and faces.shape[1] == 3
    if not whole or not all(0 <= i < num_vertices for i in faces.unique().tolist()):
        raise ValueError(
            f"faces of {name!r} must point to its vertices 0..{num_vertices - 1}, three for each"
        )
    return faces.long()
