"""Heads: one vector per set, one score per element, or one new element per set."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from symsets._checks import check_choice, positive, shown
from symsets.nn._explain import check_channels, check_elements, check_type, explained
from symsets.nn._maps import as_element, context_args, min_axes
from symsets.nn.base import SetModule
from symsets.nn.dss import DSS
from symsets.nn.sequential import Sequential
from symsets.sets import Pool, RaggedSets, Sets, fold, pool
from symsets.sets.pooling import check_pool, check_size, pool_symbol, power_degree

Entries = Literal["sum", "mean", "max"]
REDUCTIONS: dict[str, Callable[..., Tensor]] = {
    "sum": torch.sum,
    "mean": torch.mean,
    "max": torch.amax,
}


class _InvariantHead(SetModule):
    """Reduce every element to its channels, then work on sets of such feature vectors."""

    min_axes = 3

    def __init__(
        self, in_channels: int, pool: Pool | str, entries: Entries | str, size: float
    ) -> None:
        super().__init__()
        check_pool(pool)
        check_size(size)
        check_choice("entries", entries, sorted(REDUCTIONS))
        self.in_channels = positive("in_channels", in_channels)
        self.pool = pool
        self.entries = entries
        self.size = size

    def _features(self, x: Sets) -> Sets:
        """Reduce every element ``(C, *E)`` to its channels ``(C,)``."""
        if isinstance(x, RaggedSets):
            return x.map(partial(self._reduce, first=2))
        return self._reduce(x, first=3)

    def _reduce(self, x: Tensor | RaggedSets, first: int) -> Tensor:
        if isinstance(x, RaggedSets):  # clouds (P, C) with different numbers of points
            return pool(x, self.entries)
        if x.ndim == first:
            return x
        # As with empty sets, no entries are summarised by zeros.
        reduction = torch.sum if 0 in x.shape[first:] else REDUCTIONS[self.entries]
        return reduction(x, tuple(range(first, x.ndim)))

    def check_input(self, x: Sets) -> None:
        super().check_input(x)
        linear = next(part for part in self.modules() if isinstance(part, nn.Linear))
        check_type(x, linear, self)
        features, _ = fold(self._features(x))
        check_channels(features, self.in_channels)


class Classify(_InvariantHead):
    r"""Map every set to a vector, such as the scores of classes.

    .. math:: L(X) = m\Bigl(\operatorname{pool}_j \sum_k x_{jk}\Bigr)

    With ``hidden=()`` this is every linear map with the symmetry :math:`S_N \times H` from sets to
    vectors, for transitive :math:`H` (Maron et al., 2020, supplement); otherwise :math:`m` is the
    MLP of an invariant network.

    Args:
        in_channels: Channels of an element.
        num_classes: Length of the output vector.
        hidden: Widths of the hidden layers of :math:`m`.
        pool: How the set is summarised (see :func:`symsets.pool`).
        entries: How the entries of an element are: ``"sum"``, ``"mean"`` or ``"max"``.
        size: A constant that ``pool="sum"`` divides by.

    Shape:
        - x: ``(B, N, C, *E)`` or ragged, also with elements ``(P, C)`` of different sizes.
        - output: ``(B, num_classes)``.

    Symmetry:
        Invariant to :math:`S_N` and to every permutation of the entries of an element.

    Example:
        >>> Classify(8, 3, hidden=(16,))(torch.randn(2, 5, 8, 32)).shape
        torch.Size([2, 3])
    """

    returns_sets = False

    if TYPE_CHECKING:

        def __call__(self, x: Sets, *args: Any) -> Tensor:  # type: ignore[override]
            """Return one row per set."""

    def __init__(
        self,
        in_channels: int,
        num_classes: int,
        *,
        hidden: Sequence[int] = (),
        pool: Pool | str = "sum",
        entries: Entries | str = "mean",
        size: float = 1.0,
    ) -> None:
        super().__init__(in_channels, pool, entries, size)
        self.num_classes, self.hidden = num_classes, tuple(_widths(hidden))
        pooled = in_channels * (power_degree(pool) or 1)
        layers: list[nn.Module] = []
        for i, o in pairwise([pooled, *self.hidden, positive("num_classes", num_classes)]):
            layers += [nn.Linear(i, o), nn.ReLU()]
        self.mlp = nn.Sequential(*layers[:-1])

    def extra_repr(self) -> str:
        return f"mlp({pool_symbol(self.pool, self.size, of=f'{self.entries}_k x_jk')})"

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
        entries: How the entries of an element are: ``"sum"``, ``"mean"`` or ``"max"``.
        size: A constant that ``pool="sum"`` divides by.

    Shape:
        - x: ``(B, N, C, *E)`` or ragged, also with elements ``(P, C)`` of different sizes.
        - output: scores ``(B, N)``, or ragged with elements ``(T,)``.

    Symmetry:
        Equivariant to :math:`S_N`, invariant to every permutation of the entries of an element.

    Example:
        >>> Select(8, hidden=(256, 128), pool="max")(torch.randn(2, 5, 8, 32)).shape
        torch.Size([2, 5])
    """

    def __init__(
        self,
        in_channels: int,
        *,
        hidden: Sequence[int] = (),
        pool: Pool | str = "sum",
        entries: Entries | str = "mean",
        size: float = 1.0,
    ) -> None:
        super().__init__(in_channels, pool, entries, size)
        self.hidden = tuple(_widths(hidden))
        layers: list[nn.Module] = []
        for i, o in pairwise([in_channels, *self.hidden, 1]):
            layers += [DSS(nn.Linear(i, o), pool=pool, size=size), nn.ReLU()]
        self.deepsets = Sequential(*layers[:-1])

    def extra_repr(self) -> str:
        return f"deepsets({self.entries}_k x_ik)"

    @explained
    def forward(self, x: Sets) -> Sets:
        """Return one score per element."""
        scores = self.deepsets(self._features(x))
        return scores.map(_numbers) if isinstance(scores, RaggedSets) else _numbers(scores)


class Merge(SetModule):
    r"""Merge every set into one new element.

    .. math:: L(X) = L\Bigl(\operatorname{pool}_j x_j\Bigr)

    With a linear ``element`` and ``pool="sum"`` this is every linear map with the symmetry
    :math:`S_N \times H` from sets to elements (Maron et al., 2020, supplement).

    Args:
        element: :math:`L`, applied once per set.
        pool: How the set is summarised (see :func:`symsets.pool`).
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

    returns_sets = False

    if TYPE_CHECKING:

        def __call__(self, x: Sets, *args: Any) -> Tensor:  # type: ignore[override]
            """Return one row per set."""

    def __init__(self, element: nn.Module, *, pool: Pool | str = "sum", size: float = 1.0) -> None:
        super().__init__()
        check_pool(pool)
        check_size(size)
        self.element = as_element(element)
        self.min_axes = min_axes(self.element)
        self.pool = pool
        self.size = size

    def check_input(self, x: Sets) -> None:
        if power_degree(self.pool) is None:  # power sums have more channels than x
            check_elements(x, self.element, self)

    def extra_repr(self) -> str:
        return f"element({pool_symbol(self.pool, self.size)})"

    @explained
    def forward(self, x: Sets, *args: Any) -> Tensor:
        """Return one element per set."""
        return self.element(
            pool(x, self.pool, size=self.size), *(context_args(x, args) if args else ())
        )


def _numbers(scores: Tensor) -> Tensor:
    return scores.squeeze(-1)


def _widths(hidden: Any) -> list[int]:
    if not isinstance(hidden, Sequence) or isinstance(hidden, str):
        raise TypeError(
            f"hidden must list the widths of layers, as in (128, 64), got {shown(hidden)}"
        )
    return [positive("hidden", width) for width in hidden]
