"""Elements of S_N × H, which act on batches of sets."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from symsets._checks import positive, shown
from symsets.groups import PermutationGroup
from symsets.sets import RaggedSets, Sets

ElementMap = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class GroupAction:
    """An element of S_N × H: an order for the rows of all sets, and how h maps elements."""

    order: Tensor
    act: ElementMap
    act_out: ElementMap

    def reorder_only(self) -> Self:
        """Return the same order with the identity for h."""
        return replace(self, act=identity, act_out=identity)

    def element_only(self) -> Self:
        """Return the same h with the order that the rows have."""
        return replace(self, order=self.order.sort().values)


def draw_actions(
    x: Sets,
    symmetry: ElementMap | PermutationGroup | None,
    output_symmetry: ElementMap | None,
    trials: int,
    seed: int,
) -> list[GroupAction]:
    """Draw group actions on ``x``; raise TypeError or ValueError naming a wrong argument."""
    if not (symmetry is None or callable(symmetry) or isinstance(symmetry, PermutationGroup)):
        raise TypeError(
            f"symmetry must be a function or a permutation group, got {shown(symmetry)}; "
            "symsets.groups.parse reads names"
        )
    if not (output_symmetry is None or callable(output_symmetry)):
        raise TypeError(f"output_symmetry must be a function, got {shown(output_symmetry)}")
    counts = x.partition.counts if isinstance(x, RaggedSets) else (x.shape[1],) * x.shape[0]
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed must be an integer, got {shown(seed)}")
    generator = torch.Generator().manual_seed(seed)
    actions = []
    of_group = symmetry.group.generators if isinstance(symmetry, PermutationGroup) else ()
    for k in range(max(positive("trials", trials), len(of_group))):
        order, start = [torch.empty(0, dtype=torch.int64, device="cpu")], 0
        for n in counts:
            order.append(start + random_order(n, generator))
            start += n
        act = identity if symmetry is None else symmetry
        if isinstance(act, PermutationGroup):
            drawn = _random_element(act, generator)  # all generators first: then nothing is missed
            act = partial(_act, act, of_group[k] if k < len(of_group) else drawn)
        actions.append(GroupAction(torch.cat(order), act, output_symmetry or act))
    return actions


def random_order(n: int, generator: torch.Generator) -> Tensor:
    """Draw an order of ``n`` things that is not the one they have, which would show nothing."""
    order = torch.randperm(n, generator=generator, device="cpu")
    return order.roll(1) if order.tolist() == list(range(n)) else order


def identity(x: Tensor) -> Tensor:
    """Return ``x``."""
    return x


def _random_element(group: PermutationGroup, generator: torch.Generator) -> Any:
    seed = int(torch.randint(2**31, (1,), generator=generator, device="cpu"))
    return group.group.random_element(np.random.default_rng(seed))


def _act(group: PermutationGroup, element: Any, x: Tensor) -> Tensor:
    """Let an element of a group act on the last axes of a tensor."""
    if tuple(x.shape[x.ndim - len(group.shape) :]) != group.shape:
        raise ValueError(
            f"symmetry must act on the last axes of an element, got {group} for "
            f"elements of shape {tuple(x.shape[1:])}"
        )
    return group.act(x, element)


def reorder(rows: Any, order: Tensor) -> Any:
    """Return rows in another order."""
    if isinstance(rows, RaggedSets):
        return RaggedSets.from_list([rows[i] for i in order.tolist()])
    return rows[order.to(rows.device)]
