"""The matrices of linear layers, to compare with the dimensions of the theory."""

import torch

from symsets import groups
from symsets.nn import EquivariantLinear

N, D = 3, 4


def dense_matrix(layer, in_shape):
    """The matrix of a linear layer on sets, found by applying it to unit vectors."""
    size = torch.Size(in_shape).numel()
    units = torch.eye(size, dtype=torch.float64).reshape(size, *in_shape)
    with torch.no_grad():
        return layer(units).reshape(size, -1).T


def dimension_spanned(make, in_shape, labels, draws=60):
    """Check that matrices are constant on orbits; return the dimension that they span."""
    labels = torch.as_tensor(labels)
    matrices = []
    for _ in range(draws):
        matrix = dense_matrix(make().double(), in_shape)
        assert matrix.shape == labels.shape
        for orbit in range(int(labels.max()) + 1):
            values = matrix[labels == orbit]
            torch.testing.assert_close(values, values[:1].expand_as(values), rtol=1e-9, atol=1e-9)
        matrices.append(matrix.flatten())
    return int(torch.linalg.matrix_rank(torch.stack(matrices), rtol=1e-8))


def one_channel(group, **kwargs):
    return EquivariantLinear(group, 1, 1, bias=False, **kwargs)


GROUPS = [groups.Cyclic(D), groups.Symmetric(D), groups.Dihedral(D), groups.Trivial(D)]
