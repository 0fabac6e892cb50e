"""Networks that meet sets of other sizes than they were trained with."""

from copy import deepcopy
from typing import TypeVar

from torch import nn

from symsets._checks import check_kind
from symsets.nn.dss import DSS
from symsets.nn.heads import Classify, Merge, Select
from symsets.nn.wreath import Wreath
from symsets.sets.pooling import power_degree

Network = TypeVar("Network", bound=nn.Module)


def for_any_size(network: Network) -> Network:
    """Return a copy whose sums, divided by the size of sets in training, are means.

    On sets of that size nothing changes. On others a sum grows with the set, beyond what any later
    layer has seen; a mean does not. Layers whose sums are divided by nothing (``size=1``) stay as
    they are, since they have learned to count.

    Args:
        network: Anything that contains :class:`~symsets.nn.DSS` or :class:`~symsets.nn.Wreath`
            layers or heads.

    Raises:
        ValueError: If there are power sums that are divided by a size; they have no mean.

    Example:
        >>> import torch
        >>> trained = DSS(nn.Linear(2, 8), pool="sum", size=3)
        >>> network = for_any_size(trained)
        >>> three, eight = torch.randn(1, 3, 2), torch.randn(1, 8, 2)
        >>> torch.allclose(network(three), trained(three), atol=1e-6)
        True
        >>> torch.allclose(network(eight), trained(eight))
        False
    """
    check_kind("network", network, nn.Module, "module")
    copy = deepcopy(network)
    for part in copy.modules():
        if not isinstance(part, DSS | Wreath | Classify | Select | Merge) or part.size == 1:
            continue
        if part.pool == "sum":
            part.pool, part.size = "mean", 1.0
        elif isinstance(part.pool, str) and power_degree(part.pool):
            raise ValueError(
                f"network must not divide power sums by a size, got {type(part).__name__} with "
                f"pool={part.pool!r} and size={part.size:g}"
            )
    return copy
