"""Checks of arguments that must be groups."""

from symsets._checks import shown
from symsets.groups.permutation import PermutationGroup


def checked_group(name: str, value: object) -> PermutationGroup:
    """Return ``value``, or raise TypeError naming the argument if it is not a group."""
    if not isinstance(value, PermutationGroup):
        raise TypeError(
            f"{name} must be a permutation group, got {shown(value)}; "
            "symsets.groups.parse reads names"
        )
    return value
