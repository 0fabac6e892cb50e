"""How far two scores may differ by chance."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from symsets.experiments.report.comparison import Comparison, Score
from symsets.experiments.report.noise import Measured, measured, noise
from symsets.experiments.report.runs import Run

A, B = (0.61, 0.64, 0.62), (0.50, 0.58)


def model(values, name="dss-sum", per_set=None, **more):
    one = Measured(name, "accuracy", Score(tuple(values), **more), ())
    if per_set is not None:
        vars(one)["per_set"] = per_set  # as if its runs had kept them
    return one


def test_runs_differ_as_student_says():
    interval = stats.ttest_ind(A, B).confidence_interval(0.95)
    assert noise(model(A), model(B)) == pytest.approx((interval.high - interval.low) / 2)
    interval = stats.ttest_1samp(A, 0).confidence_interval(0.95)
    expected = pytest.approx((interval.high - interval.low) / 2)
    assert noise(model(A)) == expected
    assert noise(model(A), model([0.3], "random")) == expected  # a guess has no initialisation


def test_one_run_alone_says_nothing_and_one_beside_others_borrows_their_spread():
    assert noise(model([0.6])) == noise(model([0.6]), model([0.5])) == math.inf
    alone = noise(model(A))
    assert noise(model(A), model([0.5])) == pytest.approx(alone * 2)  # √(1/3 + 1) beside √(1/3)


def test_pairs_of_test_sets_are_compared_one_by_one():
    generator = torch.Generator().manual_seed(0)
    hard = torch.randn(400, generator=generator).double()
    easier = hard + 0.1 + 0.01 * torch.randn(400, generator=generator).double()
    a, b = model((0.5, 0.5), per_set=easier), model((0.4, 0.4), per_set=hard)
    expected = 1.96 * (easier - hard).std() / 20
    assert noise(a, b) == pytest.approx(expected.item(), rel=1e-3)
    other = model((0.4, 0.4), per_set=hard[:300])  # other test sets: no pairs
    unpaired = easier.var() / 400 + hard[:300].var() / 300
    assert noise(a, other) == pytest.approx(1.96 * unpaired.sqrt().item(), rel=1e-3)


def test_a_share_without_predictions_has_the_error_of_a_share():
    a, b = (model((p, p), share_of=100) for p in (0.5, 0.1))
    assert noise(a, b) == pytest.approx(1.96 * math.sqrt(0.25 / 100 + 0.09 / 100), rel=1e-3)


def test_predictions_are_read_where_all_runs_have_them(tmp_path):
    kept = np.random.default_rng(0).random((2, 50)).astype(np.float32)
    runs = []
    for seed, values in enumerate(kept):
        (tmp_path / str(seed)).mkdir()
        np.savez(tmp_path / str(seed) / "predictions.npz", mae=values)
        config = {"model": "dss-sum", "train_size": 100, "seed": seed}
        runs.append(Run(tmp_path / str(seed), config))
    scores = {(100, "mae", "dss-sum"): Score(tuple(kept.mean(1).tolist()))}

    def found():
        comparison = Comparison("colors", "", "", "ours", "", "test", scores, runs)
        return measured(comparison, "dss-sum", "mae").per_set

    np.testing.assert_allclose(found(), kept.mean(0), rtol=1e-6)
    (tmp_path / "1" / "predictions.npz").unlink()
    assert found() is None
