"""Ridge regression in closed form: what a linear and a smooth model say about each row."""

import torch
from torch import Tensor

PENALTIES = (0.03, 0.5)  # beside a kernel that is 1 for a row and itself
LENGTHS = (1.0, 4.0)  # of smooth kernels, in mean squared distances of rows
NUM_SCORES = (1 + len(LENGTHS)) * len(PENALTIES)


def ridge_scores(x: Tensor, labels: Tensor) -> Tensor:
    r"""Regress the class of each row on its columns, by a linear and by smooth kernels.

    .. math:: s_q = k_q^\top A (Y - \bar Y), \qquad
        s_r = y_r - \bar y - \frac{(A (Y - \bar Y))_r}{A_{rr}}, \qquad A = (G + \lambda I)^{-1}

    :math:`G` compares labelled rows with each other. Of these, each gets what the regression of
    all *others* says about it, so that scores of rows with and without labels mean the same.

    Args:
        x: Standardised columns; labelled rows come first.
        labels: Classes of these, one-hot.

    Shape:
        - x: ``(B, R + Q, D)``.
        - labels: ``(B, R, K)``.
        - output: ``(B, R + Q, K, S)``, one score for each kernel and penalty.

    Symmetry:
        Equivariant to reordering labelled rows, queries and classes; invariant to the order of
        columns.
    """
    num = labels.shape[1]
    centred = labels - labels.mean(1, keepdim=True)
    inner = x @ x[:, :num].transpose(1, 2)  # (B, R + Q, R)
    own = x.square().sum(2)
    apart = (own[:, :, None] + own[:, None, :num] - 2 * inner).clamp(min=0)
    tiny = torch.finfo(x.dtype).eps
    spread = apart[:, :num].mean((1, 2), keepdim=True) + tiny
    size = own[:, :num].mean(1)[:, None, None] + tiny
    smooth = [torch.exp(-apart / spread / length) for length in LENGTHS]
    kernels = torch.stack([inner / size, *smooth], dim=1)  # (B, S', R + Q, R)
    scores = [_regress(kernels, centred.unsqueeze(1), penalty) for penalty in PENALTIES]
    return torch.cat(scores, dim=1).permute(0, 2, 3, 1)


def _regress(kernel: Tensor, centred: Tensor, penalty: float) -> Tensor:
    """Return the scores ``(…, R + Q, K)`` of one penalty."""
    num = centred.shape[-2]
    unit = torch.eye(num, dtype=kernel.dtype, device=kernel.device)
    factor, _ = torch.linalg.cholesky_ex(kernel[..., :num, :] + penalty * unit)
    half = torch.linalg.solve_triangular(factor, unit, upper=False)  # A = halfᵀ half
    weights = half.mT @ (half @ centred)  # (…, R, K)
    left_out = centred - weights / half.square().sum(-2).unsqueeze(-1)
    return torch.cat([left_out, kernel[..., num:, :] @ weights], dim=-2)
