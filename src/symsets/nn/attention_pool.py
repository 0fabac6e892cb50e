"""Pooling by attention: learned queries that choose which elements count."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from symsets._checks import check_kind, positive
from symsets.nn._attend import attend, each_weights
from symsets.nn._entries import mean_of_entries
from symsets.nn._explain import check_channels, check_type, explained
from symsets.nn.base import SetHead
from symsets.sets import RaggedSets, Sets, fold, map_elements, pool, softmax
from symsets.sets.ragged import common_rows, expand_as


class AttentionPool(SetHead):
    r"""Summarise every set by weighted means, whose weights come from learned queries.

    .. math:: y_m = \sum_j \alpha_{mj}\, x_j, \qquad
        \alpha_{mj} = \operatorname{softmax}_j
        \frac{\langle q_m, k(\operatorname{mean}_l x_{jl}) \rangle}{\sqrt{C}}

    :math:`k` is a linear map, or, ``gated``, :math:`\tanh(A x) \cdot \sigma(B x)`, with which one
    query is the pooling of attention-based multiple-instance learning. Heads take it in place of
    the name of a pooling: ``Classify(64, 10, pool=AttentionPool(64))``. The map that follows there
    is the one of values. The summaries of several queries lie side by side on the channel axis,
    as power sums do. Empty sets give zeros.

    Args:
        channels: C, of an element.
        num_queries: How many summaries to make of a set.
        heads: The channels are split into this many groups, each with its own weights.
        gated: Whether keys have a gate.

    Shape:
        - x: ``(B, N, C, *E)`` or ragged.
        - output: ``(B, num_queries · C, *E)``.

    Symmetry:
        Invariant to :math:`S_N`; equivariant to every permutation of the entries of all elements
        alike.

    Example:
        >>> pool, x = AttentionPool(8, num_queries=2), torch.randn(3, 5, 8)
        >>> pool(x).shape, pool.weights(x).shape
        (torch.Size([3, 16]), torch.Size([3, 1, 2, 5]))
        >>> torch.allclose(pool(x[:, torch.randperm(5)]), pool(x), atol=1e-6)
        True

    Reference:
        Lee et al.: Set Transformer. ICML 2019 (there PMA); Ilse, Tomczak, Welling: Attention-based
        Deep Multiple Instance Learning. ICML 2018 (the gate).
    """

    min_axes = 3

    def __init__(
        self, channels: int, *, num_queries: int = 1, heads: int = 1, gated: bool = False
    ) -> None:
        super().__init__()
        self.channels = positive("channels", channels)
        self.num_queries = positive("num_queries", num_queries)
        self.heads = positive("heads", heads)
        if channels % heads:
            raise ValueError(f"heads must divide the {channels} channels, got {heads}")
        check_kind("gated", gated, bool)
        self.key = nn.Linear(channels, channels, bias=False)
        # Without a gate, a bias could only add the same to all scores of a set.
        self.gate = nn.Linear(channels, channels) if gated else None
        self.queries = nn.Parameter(torch.empty(num_queries, channels))
        self.reset_parameters()

    @property
    def gated(self) -> bool:
        """Whether keys have a gate."""
        return self.gate is not None

    def reset_parameters(self) -> None:
        """Draw the queries anew."""
        nn.init.normal_(self.queries)

    def symbol(self, of: str = "x_j") -> str:
        """Return how the pooling reads in a formula."""
        key = f"tanh(key({of})) σ(gate({of}))" if self.gated else f"key({of})"
        return f"Σ_j softmax_j ⟨query, {key}⟩ {of}"

    def extra_repr(self) -> str:
        heads = f", {self.heads} heads" if self.heads > 1 else ""
        return f"{self.symbol()}, {self.num_queries} queries{heads}"

    def check_input(self, x: Sets) -> None:
        super().check_input(x)
        check_type(x, self.key, self)
        check_channels(fold(mean_of_entries(x))[0], self.channels, self)

    @explained
    def forward(self, x: Sets) -> Tensor:
        """Return the summaries of each set side by side."""
        if isinstance(x, RaggedSets) and x.partition.common_size is None:
            return self._of_ragged(x)
        return attend(*self._compared(x), x, heads=self.heads).flatten(1, 2)

    def _of_ragged(self, x: RaggedSets) -> Tensor:
        """Weigh all rows at once; sets of each size one after the other would take longer."""
        weights: Any = softmax(map_elements(mean_of_entries(x), self._scores))  # (T, heads, M)
        rows = common_rows(x).to(weights.dtype)  # that of products under autocast
        wide, summaries = self.channels // self.heads, []
        for of_heads in weights.elements.unbind(2):
            share = expand_as(of_heads.repeat_interleave(wide, 1), rows)
            summaries.append(pool(x.with_elements(rows * share), "sum"))
        return torch.cat(summaries, 1)

    def _scores(self, rows: Tensor) -> Tensor:
        """Return the scores of rows ``(T, C)`` for each group of channels and each query."""
        keys, queries = (t.unflatten(1, (self.heads, -1)) for t in (self._key(rows), self.queries))
        return torch.einsum("thc,mhc->thm", keys / math.sqrt(keys.shape[2]), queries)

    @explained
    def weights(self, x: Sets) -> Any:
        """Return how much each element counts: ``(B, heads, num_queries, N)``, rows sum to 1.

        Of ragged sets a list, with weights ``(heads, num_queries, N_i)`` for each of them.
        """
        return each_weights(*self._compared(x), heads=self.heads)

    def _compared(self, x: Sets) -> tuple[Tensor, Any]:
        num = x.partition.num_sets if isinstance(x, RaggedSets) else x.shape[0]
        return self.queries.expand(num, -1, -1), map_elements(mean_of_entries(x), self._key)

    def _key(self, rows: Tensor) -> Tensor:
        key = self.key(rows)
        return key if self.gate is None else key.tanh() * self.gate(rows).sigmoid()
