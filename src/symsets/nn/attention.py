"""Attention between the elements of a set that keeps the symmetry of the elements."""

from typing import Any, Literal

from torch import Tensor, nn

from symsets._checks import check_choice, positive
from symsets.nn._attend import attend, each_weights
from symsets.nn._entries import mean_of_entries
from symsets.nn._maps import as_element, check_keeps_input, twin
from symsets.nn.base import AdditiveSetLayer
from symsets.sets import Sets, map_elements


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
        Equivariant to :math:`S_N \times H` for :math:`H` that permutes the entries; with
        ``compare="summary"`` the weights (not the values) are unchanged even when elements move on
        their own.

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
            check_keeps_input(name, self.get_submodule(name))
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
        parts = self._compared(x, *args)
        return attend(*parts, heads=self.heads, channel_axis=self.channel_axis)

    def weights(self, x: Sets, *args: Any) -> Any:
        """Return how much each element takes from which: ``(B, heads, N, N)``, rows sum to 1.

        Of ragged sets a list, with weights ``(heads, N_i, N_i)`` for each of them.

        Example:
            >>> import torch
            >>> from symsets import RaggedSets
            >>> layer = SetAttention(nn.Linear(3, 8), heads=2)
            >>> layer.weights(torch.randn(4, 5, 3)).shape
            torch.Size([4, 2, 5, 5])
            >>> [w.shape for w in layer.weights(RaggedSets(torch.randn(3, 3), [1, 2]))]
            [torch.Size([2, 1, 1]), torch.Size([2, 2, 2])]
        """
        query, key, _ = self._compared(x, *args)
        return each_weights(query, key, heads=self.heads, channel_axis=self.channel_axis)

    def _compared(self, x: Sets, *args: Any) -> tuple[Any, Any, Any]:
        """Return queries and keys, or their means over all axes but the channels; and values."""
        query, key, value = self._parts(x, *args)
        if self.compare == "summary":
            axis = self.channel_axis
            return mean_of_entries(query, axis), mean_of_entries(key, axis), value
        return query, key, value

    def _parts(self, x: Sets, *args: Any) -> tuple[Any, Any, Any]:
        """Return the queries of elements, and the keys and values of what they look at."""
        query, key, value = (
            map_elements(x, part, *args) for part in (self.query, self.key, self.value)
        )
        return query, key, value
