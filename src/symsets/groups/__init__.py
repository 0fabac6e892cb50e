"""Permutation groups, their orbits, and the linear maps that commute with them.

>>> from symsets import groups
>>> G = groups.Symmetric(5) * groups.Cyclic(4)  # a set of five signals of length four
>>> G
S5 × C4 acting on 5×4
>>> groups.dimension(G)  # free parameters of a linear map that commutes with G
8
>>> groups.basis(G).shape  # which entries of its matrix are equal
(20, 20)
"""

from symsets.groups.composite import wreath
from symsets.groups.direct_sum import DirectSum
from symsets.groups.named import Cyclic, Dihedral, Symmetric, Translations, Trivial
from symsets.groups.notation import parse
from symsets.groups.pairs import basis, dimension
from symsets.groups.permutation import PermutationGroup
from symsets.groups.picture import describe, figure

__all__ = [
    "PermutationGroup",
    "Trivial",
    "Symmetric",
    "Cyclic",
    "Dihedral",
    "Translations",
    "wreath",
    "DirectSum",
    "parse",
    "dimension",
    "basis",
    "describe",
    "figure",
]
