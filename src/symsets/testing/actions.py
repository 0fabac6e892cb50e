"""Elements of S_N × H, which move batches of sets: what symmetry is tested with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from symsets.groups import PermutationGroup
from symsets.sets import RaggedSets, Sets

__all__ = ["Action", "GroupAction", "draw_actions", "reorder", "identity"]

Action = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class GroupAction:
    """An element of S_N × H: a new order for the rows of all sets, and a map of elements."""

    order: Tensor
    act: Action
    act_out: Action

    @classmethod
    def draw(
        cls,
        x: Sets,
        symmetry: Action | PermutationGroup | None,
        output_symmetry: Action | None,
        generator: torch.Generator,
    ) -> GroupAction:
        """Draw an order for every set and, from a group, a permutation of entries."""
        counts = x.partition.counts if isinstance(x, RaggedSets) else (x.shape[1],) * x.shape[0]
        blocks, start = [], 0
        for n in counts:
            blocks.append(start + torch.randperm(n, generator=generator, device="cpu"))
            start += n
        order = torch.cat(blocks) if blocks else torch.empty(0, dtype=torch.int64, device="cpu")
        act = symmetry if symmetry is not None else identity
        if isinstance(act, PermutationGroup):
            act = _permute(act, generator)
        return cls(order, act, output_symmetry or act)

    def reorder_only(self) -> GroupAction:
        """Return the move that leaves elements as they are."""
        return GroupAction(self.order, identity, identity)

    def element_only(self) -> GroupAction:
        """Return the move that leaves the order as it is."""
        return GroupAction(self.order.sort().values, self.act, self.act_out)

    def nothing(self) -> GroupAction:
        """Return the move that moves nothing."""
        return self.reorder_only().element_only()


def draw_actions(
    x: Sets,
    symmetry: Action | PermutationGroup | None,
    output_symmetry: Action | None,
    trials: int,
    seed: int,
) -> list[GroupAction]:
    """Draw some moves of sets ``x``; one sentence for a symmetry that is none."""
    if not (symmetry is None or callable(symmetry) or isinstance(symmetry, PermutationGroup)):
        raise TypeError(
            f"symmetry must be a function or a permutation group, got {symmetry!r}; "
            "symsets.groups.parse reads names"
        )
    if not (output_symmetry is None or callable(output_symmetry)):
        raise TypeError(f"output_symmetry must be a function, got {output_symmetry!r}")
    if trials < 1:
        raise ValueError(f"trials must be at least 1, got {trials}")
    generator = torch.Generator().manual_seed(seed)
    return [GroupAction.draw(x, symmetry, output_symmetry, generator) for _ in range(trials)]


def identity(x: Tensor) -> Tensor:
    """Leave elements as they are."""
    return x


def _permute(group: PermutationGroup, generator: torch.Generator) -> Action:
    """Draw an element of the group and let it act on the last axes of a tensor."""
    seed = int(torch.randint(2**31, (1,), generator=generator, device="cpu"))
    permutation = torch.tensor(group.random_element(np.random.default_rng(seed)), device="cpu")
    inverse, shape = permutation.argsort(), tuple(group.shape)

    def act(x: Tensor) -> Tensor:
        if tuple(x.shape[x.ndim - len(shape) :]) != shape:
            raise ValueError(
                f"symmetry must act on the last axes of an element, got {group} for "
                f"elements of shape {tuple(x.shape[1:])}"
            )
        return x.flatten(x.ndim - len(shape))[..., inverse.to(x.device)].unflatten(-1, shape)

    return act


def reorder(rows: Any, order: Tensor) -> Any:
    """Return rows in another order."""
    if isinstance(rows, RaggedSets):
        return RaggedSets.from_list([rows[i] for i in order.tolist()])
    return rows[order.to(rows.device)]
