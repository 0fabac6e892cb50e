"""Batches of sets, of one size or of different ones, and what looks across their elements.

A batch is a dense tensor ``(B, N, *E)``, or :class:`RaggedSets` when set sizes differ.

Here are folding sets into rows and back, pooling, and the softmax over a set. Every function takes
either kind of batch, and none of them pads.
"""

from symsets.sets.collating import collate
from symsets.sets.folding import Sets, add_to_elements, fold, map_elements, spread
from symsets.sets.graphs import GraphSets
from symsets.sets.pooling import Pool, pool, power_sums, softmax
from symsets.sets.ragged import RaggedSets

__all__ = [
    "RaggedSets",
    "GraphSets",
    "Sets",
    "Pool",
    "pool",
    "softmax",
    "power_sums",
    "fold",
    "map_elements",
    "spread",
    "add_to_elements",
    "collate",
]
