"""Batches of sets: dense tensors ``(B, N, *E)``, or :class:`RaggedSets` when set sizes differ.

Everything that looks *across* the elements of a set is here: folding sets into rows and back,
pooling, the softmax over a set. Every function takes either kind of batch, and none of them pads.
"""

from symsets.sets.collating import collate
from symsets.sets.folding import (
    Sets,
    add_to_elements,
    check_sets,
    fold,
    map_elements,
    membership,
    spread,
)
from symsets.sets.partition import Partition
from symsets.sets.pooling import (
    Pool,
    check_pool,
    check_size,
    pool,
    pool_symbol,
    power_degree,
    power_sums,
    softmax,
)
from symsets.sets.ragged import RaggedSets

__all__ = [
    "RaggedSets",
    "Partition",
    "Sets",
    "fold",
    "map_elements",
    "spread",
    "add_to_elements",
    "membership",
    "pool",
    "Pool",
    "power_sums",
    "softmax",
    "collate",
    "check_sets",
    "check_pool",
    "check_size",
    "pool_symbol",
    "power_degree",
]
