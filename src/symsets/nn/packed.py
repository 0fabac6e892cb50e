"""Ragged sets as two tensors, for programs that take nothing else."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from symsets.sets import RaggedSets
from symsets.sets.partition import OpenPartition


class Packed(nn.Module):
    """Let a network for ragged sets take their elements and their sizes as tensors.

    So ``torch.export`` and ONNX can keep the number of sets and their sizes open. A program that
    is exported with :class:`~symsets.RaggedSets` themselves serves the sizes of its example only.

    Args:
        network: A network for sets.

    Shape:
        - elements: ``(T, *E)``, those of the first set, then those of the second, and so on.
        - sizes: ``(B,)``, integers that add up to T; an exported program does not check it.
        - output: what the network returns, with rows ``(T, *F)`` for ragged sets, also inside
          tuples, lists and dictionaries.

    Symmetry:
        That of ``network``.

    Example:
        >>> from torch.export import Dim, export
        >>> from symsets import DSS
        >>> elements, sizes = torch.randn(5, 3), torch.tensor([2, 3])
        >>> dims = {0: Dim("T", min=1)}, {0: Dim("B", min=1)}
        >>> program = export(Packed(DSS(nn.Linear(3, 8))), (elements, sizes), dynamic_shapes=dims)
        >>> program.module()(torch.randn(9, 3), torch.tensor([1, 2, 6])).shape
        torch.Size([9, 8])
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, elements: Tensor, sizes: Tensor) -> Any:
        """Apply the network."""
        if torch.compiler.is_exporting():
            partition = OpenPartition(sizes, elements.shape[0])
            sets = RaggedSets(elements, partition=partition)
        else:
            sets = RaggedSets(elements, sizes)
        return pytree.tree_map_only(
            RaggedSets,
            lambda y: y.elements,
            self.network(sets),
            is_leaf=lambda y: isinstance(y, RaggedSets),
        )
