"""The layer of the theory, and the one without any exchange between elements."""

from typing import Any

import torch
from torch import Tensor, nn

from symsets._checks import check_number
from symsets.nn._explain import explained
from symsets.nn._maps import as_element, check_keeps_input, context_args, first_part, twin
from symsets.nn.base import AdditiveSetLayer, SetLayer
from symsets.sets import Pool, Sets, map_elements, pool, spread
from symsets.sets.pooling import OwnPool, check_pool, pool_symbol, power_degree


class Siamese(SetLayer):
    r"""Apply one map to every element on its own.

    .. math:: L(X)_i = L(x_i)

    Args:
        element: :math:`L`.

    Shape:
        - x: ``(B, N, *E)`` or ragged.
        - output: ``(B, N, *F)``, where ``element`` maps ``(B, *E)`` to ``(B, *F)``.

    Symmetry:
        Equivariant to the wreath product :math:`H \wr S_N`: each element may move on its own, so
        how elements lie relative to each other is invisible to it.

    Example:
        >>> layer, x = Siamese(nn.Linear(3, 8)), torch.randn(2, 5, 3)
        >>> torch.allclose(layer(x)[:, 2:3], layer(x[:, 2:3]), atol=1e-6)
        True
    """

    formula = "element(x_i)"

    @explained
    def forward(self, x: Sets, *args: Any) -> Any:
        return self.map(x, *args)


class DSS(AdditiveSetLayer):
    r"""Mix every element of a set with a summary of the whole set.

    .. math:: L(X)_i = L_1(x_i) + L_2\Bigl(\operatorname{pool}_{j=1}^{N} x_j\Bigr)

    Reordering the set reorders the output. A symmetry :math:`H` of single elements (say, shifts
    of an image) is kept whenever :math:`L_1` and :math:`L_2` keep it, for :math:`H` that permutes
    the entries of an element. For linear maps and ``pool="sum"`` nothing is lost: every linear map
    with both symmetries has this form (Maron et al., 2020, Theorem 1).

    The context is computed once per set, so the layer costs :math:`1 + 1/N` of a Siamese one.

    Args:
        element: :math:`L_1`, applied to each element on its own.
        context: :math:`L_2`, applied once per set; a freshly initialised twin of ``element``
            without its bias if left out. With power sums the twin has one part per power.
        pool: How the set is summarised (see :func:`symsets.pool`), also by a function or module of
            one's own.
        size: A constant that ``pool="sum"`` divides by. With the set size of training the layer
            starts at unit scale and stays linear; 1 is the textbook form.
        pool_last: Apply the context to every element and pool what it gives,
            :math:`\operatorname{pool}_j L_2(x_j)`. For linear maps and sums this is the same, at
            N times the cost; for maxima, or with batch normalisation in :math:`L_2`, it is not.

    Shape:
        - x: ``(B, N, *E)``, or a ragged batch of sets.
        - output: ``(B, N, *F)``, where ``element`` maps ``(B, *E)`` to ``(B, *F)``.

    Symmetry:
        Equivariant to :math:`S_N \times H`.

    Example:
        >>> layer = DSS(nn.Conv1d(3, 8, kernel_size=5, padding=2, padding_mode="circular"))
        >>> x, perm = torch.randn(2, 6, 3, 32), torch.randperm(6)
        >>> moved = x[:, perm].roll(7, dims=-1)
        >>> torch.allclose(layer(moved), layer(x)[:, perm].roll(7, dims=-1), atol=1e-4)
        True
        >>> DSS(nn.Linear(2, 8), pool="max")
        DSS(
          element(x_i) + context(max_j x_j)
          (element): Linear(in_features=2, out_features=8, bias=True)
          (context): Linear(in_features=2, out_features=8, bias=False)
        )

    Reference:
        Maron, Litany, Chechik, Fetaya: On Learning Sets of Symmetric Elements. ICML 2020.
    """

    def __init__(
        self,
        element: nn.Module,
        context: nn.Module | None = None,
        *,
        pool: Pool | str | OwnPool = "sum",
        size: float = 1.0,
        pool_last: bool = False,
    ) -> None:
        super().__init__(element)
        check_pool(pool)
        check_number("size", size, zero=False)
        self.pool_last = pool_last
        self.pool = pool
        self.size = size
        degree = power_degree(pool)
        if context is not None:
            self.context = as_element(context, "context")
        elif degree is None or pool_last:
            self.context = twin(self.element, bias=False)
        else:
            self.context = SumOfParts(twin(self.element, bias=False) for _ in range(degree))
        if pool_last:
            check_keeps_input("context", self.context)
        elif isinstance(first_part(self.context), nn.Embedding):
            raise ValueError(
                "context must not look up summaries of numbers, got an Embedding: give the layer "
                "vectors, as in Sequential(embedding, DSS(…)), or pass pool_last=True"
            )

    @property
    def formula(self) -> str:
        if self.pool_last:
            return f"element(x_i) + {pool_symbol(self.pool, self.size, of='context(x_j)')}"
        return f"element(x_i) + context({pool_symbol(self.pool, self.size)})"

    def summary(self, x: Sets, *args: Any) -> Tensor:
        """Return the context of every set, ``(B, *F)``."""
        if self.pool_last:
            return pool(map_elements(x, self.context, *args), self.pool, size=self.size)
        args = context_args(x, args) if args else args
        return self.context(pool(x, self.pool, size=self.size), *args)

    def message(self, x: Sets, *args: Any) -> Tensor:
        """Return the context of every set, ready to be added to its elements."""
        return spread(self.summary(x, *args), x)


class SumOfParts(nn.ModuleList):
    """Map equal parts of the channels by one map each, and add the results.

    For linear maps this is one linear map of all channels together.
    """

    def forward(self, x: Tensor, *args: Any) -> Tensor:
        """Split the channels of ``x (B, k C, *E)`` and add what the parts become."""
        chunks = x.chunk(len(self), dim=1)
        parts = [part(chunk, *args) for part, chunk in zip(self, chunks, strict=True)]
        return torch.stack(parts).sum(0)
