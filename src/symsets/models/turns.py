"""What a network makes of pictures, whichever way round they are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from itertools import product

import torch
from torch import Tensor

from symsets.sets import Sets, map_elements

Turn = Callable[..., Tensor]
"""A function of elements, and of whether they are transposed, upside down and mirrored."""


def turned(x: Tensor, transposed: bool, upside_down: bool, mirrored: bool) -> Tensor:
    """Turn pictures ``(…, H, W)``: one of eight ways, transposed first."""
    x = x.mT if transposed else x
    return x.flip([axis for axis, flag in ((-2, upside_down), (-1, mirrored)) if flag])


def over_turns(network: Callable[[Sets], Tensor], x: Sets, turn: Turn = turned) -> Tensor:
    r"""Return the mean of what a network makes of sets and of their turns and mirror images.

    .. math:: \frac{1}{8} \sum_{g \in D_4} g^{-1} f(g X)

    It commutes with all of them, and mistakes of the network that differ between them cancel.

    Args:
        network: Gives pictures for sets of pictures.
        x: Sets.
        turn: How elements are turned, if they are more than pictures.

    Example:
        >>> x = torch.randn(1, 3, 1, 6, 8)  # a set of three pictures
        >>> mean = over_turns(lambda x: x.mean(1).cumsum(-1), x)
        >>> torch.allclose(over_turns(lambda x: x.mean(1).cumsum(-1), x.mT), mean.mT, atol=1e-6)
        True
    """
    pictures = []
    for mirrored, upside_down, transposed in product((False, True), repeat=3):
        way = {"transposed": transposed, "upside_down": upside_down, "mirrored": mirrored}
        y = turned(network(map_elements(x, partial(turn, **way))), False, upside_down, mirrored)
        pictures.append(y.mT if transposed else y)
    return reduce(torch.add, pictures) / 8
