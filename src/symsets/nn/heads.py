"""Heads: one vector per set, one score per element, or one new element per set."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import torch
from torch import Tensor, nn

from symsets._checks import check_choice, check_number, positive
from symsets.nn._explain import check_channels, check_elements, check_type, explained
from symsets.nn._maps import as_element, context_args, min_axes
from symsets.nn.attention_pool import AttentionPool
from symsets.nn.base import SetHead, SetModule
from symsets.nn.dss import DSS
from symsets.nn.sequential import Sequential
from symsets.sets import Pool, RaggedSets, Sets, fold, map_elements, pool
from symsets.sets.pooling import OwnPool, check_pool, pool_symbol, power_degree

Entries = Literal["sum", "mean", "max", "flatten"]
REDUCTIONS: dict[str, Callable[..., Tensor]] = {
    "sum": torch.sum,
    "mean": torch.mean,
    "max": torch.amax,
}


class _InvariantHead(SetModule):
    """Reduce every element to a vector, then work on sets of such vectors."""

    min_axes = 3

    def __init__(
        self,
        in_channels: int,
        pool: Pool | str | OwnPool,
        entries: Entries | str,
        size: float,
    ) -> None:
        super().__init__()
        check_number("size", size, zero=False)
        check_choice("entries", entries, ["flatten", *sorted(REDUCTIONS)])
        self.in_channels = positive("in_channels", in_channels)
        self.pool = pool
        self.entries = entries
        self.size = size

    def _features(self, x: Sets) -> Sets:
        """Reduce every element ``(C, *E)`` to a vector ``(C,)``."""
        if isinstance(x, RaggedSets):
            return x.map(partial(self._reduce, first=2))
        return self._reduce(x, first=3)

    def _reduce(self, x: Tensor | RaggedSets, first: int) -> Tensor:
        if isinstance(x, RaggedSets):  # clouds (P, C) with different numbers of points
            return pool(x, self.entries)
        if x.ndim == first:
            return x
        if self.entries == "flatten":
            return x.flatten(first - 1)
        # As with empty sets, no entries are summarised by zeros.
        reduction = torch.sum if 0 in x.shape[first:] else REDUCTIONS[self.entries]
        return reduction(x, tuple(range(first, x.ndim)))

    def check_input(self, x: Sets) -> None:
        super().check_input(x)
        linear = next(part for part in self.modules() if isinstance(part, nn.Linear))
        check_type(x, linear, self)
        features, _ = fold(self._features(x))
        check_channels(features, self.in_channels, self)


class Classify(_InvariantHead, SetHead):
    r"""Map every set to a vector, such as the scores of classes.

    .. math:: L(X) = m\Bigl(\operatorname{pool}_j \sum_k x_{jk}\Bigr)

    With ``hidden=()`` this is every linear map with the symmetry :math:`S_N \times H` from sets to
    vectors, for transitive :math:`H` (Maron et al., 2020, supplement); otherwise :math:`m` is the
    MLP of an invariant network.

    Args:
        in_channels: Channels of an element.
        num_classes: Length of the output vector.
        hidden: Widths of the hidden layers of :math:`m`.
        pool: How the set is summarised (see :func:`symsets.pool`), or an :class:`AttentionPool` of
            ``in_channels`` channels.
        entries: What becomes of the entries of an element: their ``"sum"``, ``"mean"`` or
            ``"max"``, which forget where they lie; or ``"flatten"``, which keeps them all, each in
            its place. Then ``in_channels`` counts the entries of an element,
            :math:`C \cdot H \cdot W`, and elements have one shape. Between the two: put
            ``nn.AdaptiveAvgPool2d(2)`` before the head, and flatten what is left.
        size: A constant that ``pool="sum"`` divides by.

    Shape:
        - x: ``(B, N, C, *E)`` or ragged, also with elements ``(P, C)`` of different sizes.
        - output: ``(B, num_classes)``.

    Symmetry:
        Invariant to :math:`S_N` and, but for ``"flatten"``, to every permutation of the entries of
        an element.

    Example:
        >>> Classify(8, 3, hidden=(16,))(torch.randn(2, 5, 8, 32)).shape
        torch.Size([2, 3])
    """

    def __init__(
        self,
        in_channels: int,
        num_classes: int,
        *,
        hidden: Sequence[int] = (),
        pool: Pool | str | OwnPool = "sum",
        entries: Entries | str = "mean",
        size: float = 1.0,
    ) -> None:
        super().__init__(in_channels, pool, entries, size)
        self.num_classes, self.hidden = num_classes, tuple(positive("hidden", n) for n in hidden)
        pooled = in_channels * _num_summaries(pool, in_channels)
        layers: list[nn.Module] = []
        for i, o in pairwise([pooled, *self.hidden, positive("num_classes", num_classes)]):
            layers += [nn.Linear(i, o), nn.ReLU()]
        self.mlp = nn.Sequential(*layers[:-1])

    def extra_repr(self) -> str:
        of = "x_j" if self.entries == "flatten" else f"{self.entries}_k x_jk"
        return f"mlp({pool_symbol(self.pool, self.size, of)})"

    @explained
    def forward(self, x: Sets) -> Tensor:
        """Return one vector per set."""
        return self.mlp(pool(self._features(x), self.pool, size=self.size))


class Select(_InvariantHead):
    r"""Map every element to a score that depends on its whole set.

    .. math:: L(X)_i = L_1\Bigl(\sum_k x_{ik}\Bigr)
        + L_2\Bigl(\operatorname{pool}_j \sum_k x_{jk}\Bigr)

    With ``hidden=()`` this is every linear map with the symmetry :math:`S_N \times H` from sets to
    one number per element, for transitive :math:`H`; otherwise a DeepSets block with ReLU.

    Args:
        in_channels: Channels of an element.
        hidden: Widths of the hidden DeepSets layers.
        pool: How the set is summarised (see :func:`symsets.pool`).
        entries: What becomes of the entries of an element, as in :class:`Classify`.
        size: A constant that ``pool="sum"`` divides by.

    Shape:
        - x: ``(B, N, C, *E)`` or ragged, also with elements ``(P, C)`` of different sizes.
        - output: scores ``(B, N)``, or ragged with elements ``(T,)``.

    Symmetry:
        Equivariant to :math:`S_N` and, but for ``"flatten"``, invariant to every permutation of
        the entries of an element.

    Example:
        >>> Select(8, hidden=(256, 128), pool="max")(torch.randn(2, 5, 8, 32)).shape
        torch.Size([2, 5])
    """

    def __init__(
        self,
        in_channels: int,
        *,
        hidden: Sequence[int] = (),
        pool: Pool | str | OwnPool = "sum",
        entries: Entries | str = "mean",
        size: float = 1.0,
    ) -> None:
        super().__init__(in_channels, pool, entries, size)
        check_pool(pool)
        if isinstance(pool, nn.Module):
            raise ValueError(
                f"pool must be a name or a function for layers of several widths, "
                f"got {type(pool).__name__}"
            )
        self.hidden = tuple(positive("hidden", n) for n in hidden)
        layers: list[nn.Module] = []
        for i, o in pairwise([in_channels, *self.hidden, 1]):
            layers += [DSS(nn.Linear(i, o), pool=pool, size=size), nn.ReLU()]
        self.deepsets = Sequential(*layers[:-1])

    def extra_repr(self) -> str:
        return "deepsets(x_i)" if self.entries == "flatten" else f"deepsets({self.entries}_k x_ik)"

    @explained
    def forward(self, x: Sets) -> Sets:
        """Return one score per element."""
        return map_elements(self.deepsets(self._features(x)), lambda rows: rows.squeeze(-1))


class Merge(SetHead):
    r"""Merge every set into one new element.

    .. math:: L(X) = L\Bigl(\operatorname{pool}_j x_j\Bigr)

    With a linear ``element`` and ``pool="sum"`` this is every linear map with the symmetry
    :math:`S_N \times H` from sets to elements (Maron et al., 2020, supplement).

    Args:
        element: :math:`L`, applied once per set.
        pool: How the set is summarised (see :func:`symsets.pool`), or an :class:`AttentionPool`.
        size: A constant that ``pool="sum"`` divides by.

    Shape:
        - x: ``(B, N, *E)`` or ragged.
        - output: ``(B, *F)``, where ``element`` maps ``(B, *E)`` to ``(B, *F)``.

    Symmetry:
        Invariant to :math:`S_N`; equivariant to :math:`H` whenever ``element`` is.

    Example:
        >>> Merge(nn.Conv2d(8, 3, 3, padding=1), pool="max")(torch.randn(2, 5, 8, 16, 16)).shape
        torch.Size([2, 3, 16, 16])
    """

    def __init__(
        self,
        element: nn.Module,
        *,
        pool: Pool | str | OwnPool = "sum",
        size: float = 1.0,
    ) -> None:
        super().__init__()
        _num_summaries(pool)
        check_number("size", size, zero=False)
        self.element = as_element(element)
        self.min_axes = min_axes(self.element)
        self.pool = pool
        self.size = size

    def check_input(self, x: Sets) -> None:
        if _num_summaries(self.pool) == 1:  # several summaries have more channels than x
            check_elements(x, self.element, self)

    def extra_repr(self) -> str:
        return f"element({pool_symbol(self.pool, self.size)})"

    @explained
    def forward(self, x: Sets, *args: Any) -> Tensor:
        """Return one element per set."""
        pooled = pool(x, self.pool, size=self.size)
        return self.element(pooled, *context_args(x, args))


def _num_summaries(how: Any, channels: int | None = None) -> int:
    """Return how many summaries of a set a pooling puts side by side; raise if it is none."""
    if not isinstance(how, AttentionPool):
        check_pool(how)
        return power_degree(how) or 1
    if channels not in (None, how.channels):
        raise ValueError(
            f"pool must be an AttentionPool of in_channels = {channels} channels, "
            f"got one of {how.channels}"
        )
    return how.num_queries
