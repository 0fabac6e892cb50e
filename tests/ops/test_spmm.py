"""A constant sparse matrix times a wide dense one."""

import pytest
import torch

from symsets import ops
from symsets.ops.spmm import CSR


def matrix(symmetric=False, dtype=torch.float64):
    """Return a matrix with an empty row, and with two entries in one place."""
    row, column = torch.tensor([0, 0, 2, 2, 3]), torch.tensor([1, 3, 0, 0, 2])
    value = torch.arange(1.0, 6).to(dtype)
    if symmetric:
        row, column, value = torch.cat([row, column]), torch.cat([column, row]), value.repeat(2)
        order = (4 * row + column).argsort(stable=True)
        row, column, value = row[order], column[order], value[order]
    return ops.SparseMatrix.from_entries(row, column, value, 4)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("width", [0, 1, 7])
def test_products_are_those_of_the_dense_matrix(symmetric, width, fast_forms):
    m = matrix(symmetric)
    dense = m.to_dense()
    assert m.symmetric is symmetric
    assert torch.equal(dense, dense.T) is symmetric
    assert dense[2, 0] == 7
    x, grad = torch.randn(4, width).double().requires_grad_(), torch.randn(4, width).double()
    (expected,) = torch.autograd.grad(dense @ x, x, grad)
    kernels = ["spmm", "spmm"] if width else []  # there and back
    with fast_forms.expected(*kernels):
        y = m @ x
        (found,) = torch.autograd.grad(y, x, grad)
    with fast_forms.expected(), ops.plain("spmm"):
        plain = m @ x
        (of_plain,) = torch.autograd.grad(plain, x, grad)
    for value, gradient in ((y, found), (plain, of_plain)):
        torch.testing.assert_close(value, dense @ x, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(gradient, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_products_have_the_type_of_what_is_multiplied(dtype, fast_forms):
    x = torch.randint(-2, 3, (4, 5)).to(dtype)
    y = matrix() @ x
    assert y.dtype == dtype
    assert torch.equal(y.double(), matrix().to_dense() @ x.double())
    assert fast_forms.calls == ["spmm"]


def test_columns_that_do_not_lie_side_by_side(fast_forms):
    x = torch.randn(7, 4).double().T
    torch.testing.assert_close(matrix() @ x, matrix().to_dense() @ x)
    for batch in (torch.randn(4, 5, 2).double(), torch.randn(5, 4, 2).double().movedim(0, 1)):
        many = torch.vmap(lambda t: matrix() @ t, in_dims=1, out_dims=1)(batch)
        torch.testing.assert_close(many, torch.einsum("ij,jsk->isk", matrix().to_dense(), batch))


def test_matrices_on_the_diagonal_of_a_large_one():
    blocks = [matrix(), matrix(symmetric=True)]
    large = ops.SparseMatrix.block_diagonal(blocks)
    assert torch.equal(large.to_dense(), torch.block_diag(*(b.to_dense() for b in blocks)))
    x = torch.randn(8, 3).double().requires_grad_()
    (of_x,) = torch.autograd.grad((large @ x).sum(), x)
    torch.testing.assert_close(of_x, large.to_dense().T.sum(1, keepdim=True).expand(8, 3))
    assert ops.SparseMatrix.block_diagonal(blocks[1:] * 2).symmetric


def test_rows_are_sorted_and_keep_the_order_inside():
    row, column = torch.tensor([2, 0, 2]), torch.tensor([1, 0, 0])
    csr = CSR.from_entries(row, column, torch.tensor([1.0, 2.0, 3.0]), 3)
    assert csr.starts.tolist() == [0, 1, 1, 3]
    assert csr.columns.tolist() == [0, 1, 0]
    assert csr.values.tolist() == [2, 1, 3]
    assert csr.rows.tolist() == [0, 2, 2]
