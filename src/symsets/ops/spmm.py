"""A constant sparse matrix, and its product with a wide dense one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from symsets.ops._dispatch import fast
from symsets.ops.triton import kernels

TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)  # that the kernel knows


@dataclass(frozen=True)
class CSR:
    """Entries sorted by row: those of row i lie at ``starts[i]`` up to ``starts[i + 1]``.

    Two entries may share a place; they add up. The parts are plain tensors (and not one sparse
    tensor) so that they can be copied, sent between processes, pinned and traced.
    """

    starts: Tensor  # (rows + 1,), 32-bit: half the traffic, and what the kernels work with
    columns: Tensor  # (entries,), 32-bit
    values: Tensor  # (entries,)

    @classmethod
    def from_entries(cls, row: Tensor, column: Tensor, value: Tensor, num_rows: int) -> CSR:
        """Sort entries by their row, keeping the order inside it, without asking the host."""
        row, order = row.sort(stable=True)
        starts = torch.searchsorted(row, torch.arange(num_rows + 1, device=row.device))
        return cls(starts.int(), column[order].int(), value[order])

    @property
    def rows(self) -> Tensor:
        """The row of each entry, ``(entries,)``."""
        counts = self.starts.diff()
        rows = torch.arange(len(counts), device=counts.device)
        return rows.repeat_interleave(counts, output_size=len(self.columns))

    def map(self, fn: Callable[[Tensor], Tensor]) -> CSR:
        """Apply ``fn`` to each of the tensors."""
        return CSR(fn(self.starts), fn(self.columns), fn(self.values))

    def equals(self, other: CSR) -> bool:
        """Whether all entries agree, in their order too; asks the host."""
        pairs = zip(self.parts(self.values.dtype), other.parts(self.values.dtype), strict=True)
        return all(torch.equal(a, b) for a, b in pairs)

    def parts(self, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
        """The tensors a product needs, with values of type ``dtype``."""
        return self.starts, self.columns, self.values.to(dtype)


@dataclass(frozen=True)
class SparseMatrix:
    """A constant square matrix, with its transpose at hand for the backward pass.

    ``transposed`` is ``matrix`` itself where the matrix is symmetric.
    """

    matrix: CSR
    transposed: CSR

    @classmethod
    def from_entries(
        cls,
        row: Tensor,
        column: Tensor,
        value: Tensor,
        size: int,
        *,
        symmetric: bool | None = None,
    ) -> SparseMatrix:
        """Build a square matrix from its entries.

        Unless the caller says whether it is symmetric, the entries are compared, which asks the
        host; entries of a row must then come in the order of their columns.
        """
        matrix = CSR.from_entries(row, column, value, size)
        if symmetric:
            return cls(matrix, matrix)
        transposed = CSR.from_entries(column, row, value, size)
        if symmetric is None and matrix.equals(transposed):
            return cls(matrix, matrix)
        return cls(matrix, transposed)

    @classmethod
    def block_diagonal(cls, blocks: list[SparseMatrix]) -> SparseMatrix:
        """Put matrices on the diagonal of a large one."""
        matrix = _block_diagonal([block.matrix for block in blocks])
        if all(block.symmetric for block in blocks):
            return cls(matrix, matrix)
        return cls(matrix, _block_diagonal([block.transposed for block in blocks]))

    @property
    def symmetric(self) -> bool:
        """Whether the matrix is known to be its own transpose."""
        return self.transposed is self.matrix

    @property
    def device(self) -> torch.device:
        """Where the matrix lies."""
        return self.matrix.values.device

    def map(self, fn: Callable[[Tensor], Tensor]) -> SparseMatrix:
        """Apply ``fn`` to each of the tensors."""
        matrix = self.matrix.map(fn)
        return SparseMatrix(matrix, matrix if self.symmetric else self.transposed.map(fn))

    def to_dense(self) -> Tensor:
        """Return the matrix with all its zeros."""
        place, size = (self.matrix.rows, self.matrix.columns.long()), len(self.matrix.starts) - 1
        zeros = self.matrix.values.new_zeros(size, size)
        return zeros.index_put(place, self.matrix.values, accumulate=True)

    def __matmul__(self, x: Tensor) -> Tensor:
        """Multiply with ``x (columns, K)``, in the type of ``x``."""
        matrix = self.matrix.parts(x.dtype)
        transposed = matrix if self.symmetric else self.transposed.parts(x.dtype)
        return _product(*matrix, *transposed, x.contiguous())


def _block_diagonal(blocks: list[CSR]) -> CSR:
    starts, columns, entries, rows = [blocks[0].starts[:1]], [], 0, 0
    for block in blocks:
        starts.append(block.starts[1:] + entries)
        columns.append(block.columns + rows)
        entries, rows = entries + len(block.columns), rows + len(block.starts) - 1
    return CSR(torch.cat(starts), torch.cat(columns), torch.cat([b.values for b in blocks]))


class _Product(torch.autograd.Function):
    """A matrix times x, with the transposed product as backward pass; the matrix is constant."""

    @staticmethod
    def forward(*inputs: Tensor) -> Tensor:
        starts, columns, values, x = *inputs[:3], inputs[6]
        traced = torch.compiler.is_compiling() or type(x) not in (Tensor, nn.Parameter)
        return (_spmm if traced else _multiply)(starts, columns, values, x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:6])
        ctx.save_for_forward(*inputs[:6])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors  # read once: a checkpoint allows no second time
        matrix, transposed = saved[:3], saved[3:]
        return *[None] * 6, _product(*transposed, *matrix, grad.contiguous())

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor) -> Tensor:
        return _product(*ctx.saved_tensors, tangents[6].contiguous())

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor) -> tuple[Tensor, int]:
        x = inputs[6].movedim(in_dims[6] or 0, 1)  # (columns, S, K): more columns, one product
        return _product(*inputs[:6], x.flatten(1)).unflatten(1, x.shape[1:]), 1


_product: Callable[..., Tensor] = _Product.apply


def _multiply(starts: Tensor, columns: Tensor, values: Tensor, x: Tensor) -> Tensor:
    if x.shape[1] == 0:  # embedding_bag and cuSPARSE refuse it
        return x.new_empty(len(starts) - 1, 0)
    if fast("spmm", x) and x.dtype in TYPES and (ours := kernels("spmm")) is not None:
        return ours.spmm(starts, columns, values, x)  # faster than cuSPARSE for meshes
    if x.is_cuda:
        _use_up_beta_warning()
        matrix = torch.sparse_csr_tensor(starts, columns, values, (len(starts) - 1, len(x)))
        with torch.autocast("cuda", enabled=False):  # the product keeps the type of x
            return matrix @ x
    # Half the time of the CSR product on a CPU, and it knows bfloat16.
    return embedding_bag(
        columns, x, starts, mode="sum", per_sample_weights=values, include_last_offset=True
    )


# torch.compile cannot look into sparse tensors, nor a kernel into fake ones, so these get an
# operator; eager code saves the cost.
_spmm = torch.library.custom_op("symsets::spmm", _multiply, mutates_args=())


@_spmm.register_fake
def _(starts: Tensor, columns: Tensor, values: Tensor, x: Tensor) -> Tensor:
    return x.new_empty(starts.shape[0] - 1, x.shape[1])


@cache
def _use_up_beta_warning() -> None:
    """Make torch say here, once and unheard, that its CSR tensors are young."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sparse_csr_tensor([0, 0], [], [], (1, 1), dtype=torch.float32)
