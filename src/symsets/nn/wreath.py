"""The layer for sets whose elements move independently of each other."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from symsets._checks import check_number, positive
from symsets.nn._entries import mean_of_entries
from symsets.nn._explain import check_channels
from symsets.nn._maps import channels
from symsets.nn.base import AdditiveSetLayer
from symsets.sets import RaggedSets, Sets, pool, spread
from symsets.sets.pooling import pool_symbol


class Wreath(AdditiveSetLayer):
    r"""Mix every element with one number per channel, the mean of all entries of the set.

    .. math:: L(X)_i = L(x_i) + \beta \sum_{j} \sum_{k} x_{jk}

    This is all that is left when each element moves by its own :math:`h_i \in H` (Maron et al.,
    2020, supplement: :math:`E(H) + 1` dimensions for transitive :math:`H`). The sum over the
    entries :math:`k` of an element is divided by their number and the sum over elements by
    ``size``, so that :math:`\beta` keeps its scale at any resolution; for elements of one size
    both are constants. Elements may have different numbers of entries.

    Args:
        element: :math:`L`.
        in_channels: Channels of an element; read off ``element`` if left out.
        out_channels: Channels that ``element`` returns; read off it if left out.
        size: A constant that the sum over elements is divided by.
        channel_axis: Which axis of ``(B, *E)`` holds the channels; the last one for linear maps and
            the first one for others if left out.

    Shape:
        - x: ``(B, N, C, *E)`` or ragged, also with elements of different sizes.
        - output: ``(B, N, C', *F)``, where ``element`` maps ``(B, C, *E)`` to ``(B, C', *F)``.

    Symmetry:
        Equivariant to :math:`H \wr S_N`, for :math:`H` that permutes the entries of an element.

    Example:
        >>> layer = Wreath(nn.Conv1d(1, 4, 3, padding=1, padding_mode="circular"))
        >>> x = torch.randn(1, 2, 1, 8)
        >>> moved = torch.stack([x[:, 0].roll(3, -1), x[:, 1].roll(5, -1)], dim=1)
        >>> torch.allclose(layer(moved)[:, 1], layer(x)[:, 1].roll(5, -1), atol=1e-5)
        True
    """

    def __init__(
        self,
        element: nn.Module,
        *,
        in_channels: int | None = None,
        out_channels: int | None = None,
        size: float = 1.0,
        channel_axis: int | None = None,
    ) -> None:
        super().__init__(element)
        in_channels = channels(element, "in") if in_channels is None else in_channels
        out_channels = channels(element, "out") if out_channels is None else out_channels
        check_number("size", size, zero=False)
        self.pool = "sum"
        self.size = size
        if channel_axis is not None:
            self.channel_axis = channel_axis
        shape = positive("out_channels", out_channels), positive("in_channels", in_channels)
        like = next(element.parameters(), torch.empty(0))
        self.beta = nn.Parameter(torch.empty(shape, dtype=like.dtype, device=like.device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw β anew."""
        bound = 1 / math.sqrt(self.beta.shape[1])
        nn.init.uniform_(self.beta, -bound, bound)

    @property
    def formula(self) -> str:
        return f"element(x_i) + β {pool_symbol(self.pool, self.size, of='mean_k x_jk')}"

    def check_input(self, x: Sets) -> None:
        super().check_input(x)
        check_channels(pool(mean_of_entries(x, self.channel_axis)), self.beta.shape[1], self)

    def message(self, x: Sets, *args: Any) -> Tensor:
        """Return one number per set and channel, the same for all entries of an element."""
        summary = pool(mean_of_entries(x, self.channel_axis), self.pool, size=self.size)
        message = nn.functional.linear(summary, self.beta)  # (B, C')
        if isinstance(x, RaggedSets) and isinstance(x.elements, RaggedSets):
            return spread(message, x)
        ndim = x.elements.ndim if isinstance(x, RaggedSets) else x.ndim - 1
        axis = self.channel_axis % ndim
        shape = [message.shape[0], *(len(self.beta) if k == axis else 1 for k in range(1, ndim))]
        return spread(message.reshape(shape), x)
