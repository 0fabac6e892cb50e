"""Regressions in closed form against regressions of all other rows."""

import torch

from symsets.experiments.tables.ridge import LENGTHS, NUM_SCORES, PENALTIES, ridge_scores


def test_labelled_rows_get_what_the_regression_of_the_others_says():
    torch.manual_seed(0)
    x = torch.randn(2, 9, 3, dtype=torch.float64)
    labels = torch.eye(3, dtype=torch.float64).repeat(2, 2, 1)
    scores = ridge_scores(x, labels)
    assert scores.shape == (2, 9, 3, NUM_SCORES)
    centred = labels - labels.mean(1, keepdim=True)
    apart = torch.cdist(x, x).square()
    size = x[:, :6].square().sum(2).mean(1)[:, None, None]
    spread = apart[:, :6, :6].mean((1, 2), keepdim=True)
    kernels = [x @ x.mT / size, *((-apart / spread / length).exp() for length in LENGTHS)]
    for place, (penalty, kernel) in enumerate((p, k) for p in PENALTIES for k in kernels):
        for row in range(9):
            others = [i for i in range(6) if i != row]
            inner = kernel[:, others][:, :, others] + penalty * torch.eye(len(others))
            weights = torch.linalg.solve(inner, centred[:, others])
            expected = (kernel[:, [row]][:, :, others] @ weights)[:, 0]
            torch.testing.assert_close(scores[:, row, :, place], expected)


def test_a_table_of_constant_columns_gives_finite_scores():
    scores = ridge_scores(torch.zeros(1, 5, 2), torch.eye(2).repeat(1, 2, 1))
    assert scores.isfinite().all()
