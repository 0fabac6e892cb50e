"""Attention between the elements of a set that keeps the symmetry of the elements."""

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn

from symsets._checks import check_choice, positive
from symsets.nn._maps import as_element, check_keeps_input, twin
from symsets.nn.base import AdditiveSetLayer
from symsets.sets import RaggedSets, Sets, map_elements
from symsets.sets.partition import OpenPartition
from symsets.sets.ragged import common_rows


class SetAttention(AdditiveSetLayer):
    r"""Let every element choose what it takes from the others.

    .. math:: L(X)_i = L_1(x_i) + \sum_j \alpha_{ij}\, h(x_j), \qquad
        \alpha_{ij} = \operatorname{softmax}_j
        \frac{\langle q(x_i), k(x_j) \rangle}{\sqrt{D}}

    Elements may have any shape. Queries and keys are compared by the inner product over the whole
    element, or of their means over all axes but the channels; both are unchanged when :math:`H`
    permutes the entries of all elements alike, so the symmetry is exact. :math:`D` is the number
    of entries compared.

    Args:
        element: :math:`L_1`.
        value: :math:`h`; a freshly initialised twin of ``element`` without bias if left out.
        query: :math:`q`; a twin of ``element`` if left out.
        key: :math:`k`; a twin of ``element`` without bias if left out, which could only add the
            same to all scores of an element.
        heads: The channels of queries, keys and values are split into this many groups, each with
            its own weights.
        compare: ``"element"``, or ``"summary"`` for the means.

    Shape:
        - x: ``(B, N, *E)`` or ragged.
        - output: ``(B, N, *F)``, where ``element`` maps ``(B, *E)`` to ``(B, *F)``.

    Symmetry:
        Equivariant to :math:`S_N \times H`; with ``compare="summary"`` the weights (not the
        values) are unchanged even when elements move on their own.

    Example:
        >>> import torch
        >>> layer, x = SetAttention(nn.Linear(3, 8), heads=2), torch.randn(2, 5, 3)
        >>> perm = torch.randperm(5)
        >>> torch.allclose(layer(x[:, perm]), layer(x)[:, perm], atol=1e-5)
        True
    """

    def __init__(
        self,
        element: nn.Module,
        value: nn.Module | None = None,
        query: nn.Module | None = None,
        key: nn.Module | None = None,
        *,
        heads: int = 1,
        compare: Literal["element", "summary"] = "element",
    ) -> None:
        super().__init__(element)
        check_choice("compare", compare, ("element", "summary"))
        self.heads = positive("heads", heads)
        self.value = self._part("value", value, bias=False)
        self.query = self._part("query", query)
        self.key = self._part("key", key, bias=False)
        for name in ("element", "value", "query", "key"):
            check_keeps_input(self.get_submodule(name), name)
        self.compare = compare

    def _part(self, name: str, given: nn.Module | None, *, bias: bool = True) -> nn.Module:
        # An empty nn.Sequential is an identity, and false: only None asks for a twin.
        if given is not None:
            return as_element(given, name)
        return twin(self.element, bias=bias, instead="value=, query= and key=")

    @property
    def formula(self) -> str:
        mean = "mean " if self.compare == "summary" else ""
        heads = f", {self.heads} heads" if self.heads > 1 else ""
        inner = f"⟨{mean}query(x_i), {mean}key(x_j)⟩"
        return f"element(x_i) + Σ_j softmax_j {inner} value(x_j){heads}"

    def message(self, x: Sets, *args: Any) -> Tensor:
        """Return the weighted sum of values for every element."""
        query, key, value = (
            map_elements(x, part, *args) for part in (self.query, self.key, self.value)
        )
        if isinstance(x, RaggedSets):
            return self._attend_ragged(query, key, value)
        return self._attend(query, key, value)

    def weights(self, x: Sets, *args: Any) -> Any:
        """Return how much each element takes from which: ``(B, heads, N, N)``, rows sum to 1.

        Of ragged sets a list, with weights ``(heads, N_i, N_i)`` for each of them.

        Example:
            >>> import torch
            >>> layer = SetAttention(nn.Linear(3, 8), heads=2)
            >>> layer.weights(torch.randn(4, 5, 3)).shape
            torch.Size([4, 2, 5, 5])
            >>> [w.shape for w in layer.weights(RaggedSets(torch.randn(3, 3), [1, 2]))]
            [torch.Size([2, 1, 1]), torch.Size([2, 2, 2])]
        """
        query, key = (map_elements(x, part, *args) for part in (self.query, self.key))
        if isinstance(x, RaggedSets):
            common_rows(query)
            pairs = zip(query, key, strict=True)
            return [self._weights(q[None], k[None])[0] for q, k in pairs]
        return self._weights(query, key)

    def _split(self, x: Tensor, name: str) -> Tensor:
        """Split the channels into heads: ``(B, N, C, *E)`` to ``(B, h, N, C / h, *E)``."""
        if x.ndim < 3:
            raise ValueError(f"{name} must return elements with channels, (C, …), got numbers")
        if x.shape[2] % self.heads:
            raise ValueError(
                f"heads must divide the channels of {name}, {x.shape[2]}, got {self.heads}"
            )
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def _weights(self, query: Tensor, key: Tensor, apart: Tensor | None = None) -> Tensor:
        q, k = self._split(query, "query"), self._split(key, "key")
        if self.compare == "summary":
            q, k = (part.flatten(4).mean(4) if part.ndim > 4 else part for part in (q, k))
        q, k = q.flatten(3), k.flatten(3)  # (B, h, N, D)
        if q.shape[-1] != k.shape[-1]:
            raise ValueError(
                "query and key must give outputs of one shape, "
                f"got {tuple(query.shape[2:])} and {tuple(key.shape[2:])}"
            )
        # Divided first: the inner product of large elements does not fit into float16.
        scores = q / math.sqrt(max(q.shape[-1], 1)) @ k.transpose(-1, -2)  # (B, h, N, N)
        return (scores if apart is None else scores.masked_fill(apart, -torch.inf)).softmax(-1)

    def _attend(
        self, query: Tensor, key: Tensor, value: Tensor, *, apart: Tensor | None = None
    ) -> Tensor:
        weights = self._weights(query, key, apart)
        v = self._split(value, "value")  # (B, h, N, C / h, *F)
        mixed = weights.to(v.dtype) @ v.flatten(3)
        return mixed.unflatten(3, v.shape[3:]).transpose(1, 2).flatten(2, 3)

    def _attend_ragged(self, *parts: RaggedSets) -> Tensor:
        """Attend inside the sets of each size as one dense batch, then put rows back in order."""
        partition = parts[0].partition
        rows = [common_rows(part) for part in parts]
        if partition.common_size is not None:
            shape = (len(partition), partition.common_size)
            return self._attend(*(r.unflatten(0, shape) for r in rows)).flatten(0, 1)
        if partition.total == 0:
            return rows[2]
        if isinstance(partition, OpenPartition):  # all rows at once, blind to other sets
            apart = partition.index[:, None] != partition.index
            return self._attend(*(r.unsqueeze(0) for r in rows), apart=apart).squeeze(0)
        dense = zip(*(partition.by_size(r) for r in rows), strict=True)
        return partition.from_sizes([self._attend(*sets) for sets in dense])
