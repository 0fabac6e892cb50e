"""Maps of adjacency tensors: all that commute with relabelling the nodes."""

import torch
from torch import Tensor, nn

from symsets._checks import check_choice
from symsets.nn._explain import explained
from symsets.nn.base import ElementMap

NUM_MAPS = {0: 2, 1: 5, 2: 15}  # Bell numbers, where the input is a matrix


class AdjacencyLinear(ElementMap):
    r"""Map k×k tensors by every linear map that commutes with relabelling the k nodes.

    The maps from matrices to matrices are spanned by 15: the matrix and its transpose; the
    diagonal, the row sums and the column sums, each put on the diagonal, on the rows or on the
    columns; the total and the trace, each put on the diagonal or everywhere. There are 5 from
    matrices to vectors and 2 to scalars. Sums are mapped between channels while they are small,
    so that no k×k tensor is made for each of the maps.

    The number of nodes may differ from call to call; for fewer than four nodes some of the maps
    coincide, and the span is still complete.

    Args:
        in_channels: Channels of the input.
        out_channels: Channels of the output.
        order: 2 for matrices, 1 for one vector entry per node, 0 for one number per channel.
        bias: Whether to add a constant, for matrices one everywhere and one on the diagonal.
        normalize: Whether each sum is divided by the number of its terms. The span is the same
            for each k, and outputs keep their scale at any k. Plain sums are the textbook form.

    Shape:
        - x: ``(B, C, k, k)``.
        - output: ``(B, C', k, k)``, ``(B, C', k)`` or ``(B, C')`` for order 2, 1, 0.

    Symmetry:
        Equivariant to :math:`S_k`, which permutes rows and columns together; invariant for
        order 0.

    Example:
        >>> layer = AdjacencyLinear(3, 8)
        >>> x, perm = torch.randn(2, 3, 5, 5), torch.randperm(5)
        >>> moved = layer(x[..., perm, :][..., perm])
        >>> torch.allclose(moved, layer(x)[..., perm, :][..., perm], atol=1e-5)
        True

    Reference:
        Maron et al., "Invariant and Equivariant Graph Networks", ICLR 2019.
    """

    axes = ("k", "k")

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        order: int = 2,
        bias: bool = True,
        normalize: bool = True,
    ) -> None:
        super().__init__(in_channels, out_channels)
        check_choice("order", order, NUM_MAPS)
        self.order, self.normalize = order, normalize
        self.weight = nn.Parameter(torch.empty(NUM_MAPS[order], out_channels, in_channels))
        shape = (2, out_channels) if order == 2 else (out_channels,)
        self.bias = nn.Parameter(torch.empty(shape)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights; between noise and constant input the output stays near unit scale."""
        self._draw((6.0 / (len(self.weight) * self.in_channels)) ** 0.5)

    @explained
    def forward(self, x: Tensor) -> Tensor:
        if x.shape[2] != x.shape[3]:  # torch would add up any matrix
            raise IndexError("x must be square")
        vectors, scalars = self._sums(x)
        if self.order == 0:
            y = self._mix(scalars, self.weight)[0].squeeze(-1)  # (B, C')
            return y if self.bias is None else y + self.bias
        if self.order == 1:
            of_vectors, of_scalars = self.weight.split((3, 2))
            y = self._mix(vectors, of_vectors)[0] + self._mix(scalars, of_scalars)[0]
            return y if self.bias is None else y + self.bias.unsqueeze(-1)
        return self._matrix(x, vectors, scalars)

    def _sums(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return (diagonal, rows, columns) ``(B, 3 C, k)`` and (total, trace) ``(B, 2 C, 1)``."""
        add = torch.mean if self.normalize else torch.sum
        diagonal, rows, columns = x.diagonal(dim1=-2, dim2=-1), add(x, -1), add(x, -2)
        scalars = torch.cat([add(rows, -1, True), add(diagonal, -1, True)], dim=1)
        return torch.cat([diagonal, rows, columns], dim=1), scalars

    def _mix(self, features: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
        """Map F features ``(B, F C, *)`` to each of G places by ``weight (G F, C', C)``."""
        num_features = features.shape[1] // self.in_channels
        grid = weight.unflatten(0, (-1, num_features))  # (G, F, C', C)
        flat = grid.transpose(1, 2).flatten(0, 1).flatten(1)  # (G C', F C)
        return torch.matmul(flat, features).chunk(len(grid), dim=1)

    def _matrix(self, x: Tensor, vectors: Tensor, scalars: Tensor) -> Tensor:
        of_matrices, of_vectors, of_scalars = self.weight.split((2, 9, 4))
        plain, transposed = self._mix(x.flatten(2), of_matrices)  # each (B, C', k k)
        on_diagonal, on_rows, on_columns = self._mix(vectors, of_vectors)  # each (B, C', k)
        everywhere, along_diagonal = self._mix(scalars, of_scalars)  # each (B, C', 1)
        if self.bias is not None:
            everywhere = everywhere + self.bias[0].unsqueeze(-1)
            along_diagonal = along_diagonal + self.bias[1].unsqueeze(-1)
        k = x.shape[-1]
        y = plain.unflatten(-1, (k, k)) + transposed.unflatten(-1, (k, k)).mT
        y = y + (on_rows + everywhere).unsqueeze(-1) + on_columns.unsqueeze(-2)
        return y + torch.diag_embed(on_diagonal + along_diagonal)  # (B, C', k, k)

    def extra_repr(self) -> str:
        target = {0: "R", 1: "R^k", 2: "R^(k×k)"}[self.order]
        return (
            f"{self.in_channels} → {self.out_channels}, R^(k×k) → {target}, "
            f"{len(self.weight)} maps of S_k, normalize={self.normalize}"
        )
