"""Elements of S_N × H, which act on batches of sets."""

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

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
    counts = x.partition.counts if isinstance(x, RaggedSets) else (x.shape[1],) * x.shape[0]
    generator = torch.Generator().manual_seed(operator.index(seed))
    actions = []
    of_group = symmetry.group.generators if isinstance(symmetry, PermutationGroup) else ()
    for k in range(max(positive("trials", trials), len(of_group))):
        order, start = [torch.empty(0, dtype=torch.int64, device="cpu")], 0
        for n in counts:
            order.append(start + random_order(n, generator))
            start += n
        act = identity if symmetry is None else symmetry
        if isinstance(act, PermutationGroup):
            number = int(torch.randint(2**31, (1,), generator=generator, device="cpu"))
            drawn = act.group.random_element(number)  # all generators first: nothing is missed
            act = partial(act.act, element=of_group[k] if k < len(of_group) else drawn)
        actions.append(GroupAction(torch.cat(order), act, output_symmetry or act))
    return actions


def random_order(n: int, generator: torch.Generator) -> Tensor:
    """Draw an order of ``n`` things that is not the one they have, which would show nothing."""
    order = torch.randperm(n, generator=generator, device="cpu")
    return order.roll(1) if order.tolist() == list(range(n)) else order


def identity(x: Tensor) -> Tensor:
    """Return ``x``."""
    return x


def reorder(rows: Any, order: Tensor) -> Any:
    """Return rows in another order."""
    if isinstance(rows, RaggedSets):
        return RaggedSets.from_list([rows[i] for i in order.tolist()])
    return rows[order.to(rows.device)]
