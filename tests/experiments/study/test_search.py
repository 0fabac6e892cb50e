"""The search for a learning rate."""

import math

import pytest

from symsets.experiments.study.search import (
    LEARNING_RATE_GRID,
    best_rate,
    read_searches,
    search_learning_rate,
)


@pytest.mark.parametrize("best", [3e-7, 3e-5, 1e-3, 3e-3, 1e-1])
@pytest.mark.parametrize("larger", [False, True])
def test_the_best_rate_is_found_to_half_a_step_wherever_it_is(best, larger):
    def measure(rate):
        return abs(math.log(rate / best)) * (-1 if larger else 1)

    tried = search_learning_rate(measure, larger_is_better=larger)
    assert best_rate(tried, larger_is_better=larger) == pytest.approx(best)


def test_a_search_around_the_usual_rate_is_shorter_than_the_grid():
    tried = search_learning_rate(lambda rate: abs(math.log(rate / 1e-3)), larger_is_better=False)
    assert set(tried) == {"0.001", "0.01", "0.0001", "0.003", "0.0003"}
    assert len(tried) < len(LEARNING_RATE_GRID)


def test_rates_that_fail_lead_to_smaller_ones():
    def measure(rate):
        return {1e-2: math.inf, 3e-5: None}.get(rate, rate if rate < 1e-4 else math.nan)

    tried = search_learning_rate(measure, larger_is_better=True)
    assert [tried[rate] for rate in ("0.001", "0.0001")] == [None, None]
    assert best_rate(tried, larger_is_better=True) == 1e-5


def test_where_all_rates_fail_there_is_no_best_one():
    tried = search_learning_rate(lambda rate: None, larger_is_better=True)
    assert len(tried) == 5  # from the middle of the grid to its end
    assert best_rate(tried, larger_is_better=True) is None


@pytest.mark.parametrize("content", ["{", "[1]", '{"mlp": [1]}', '{"mlp": {"fast": 1}}'])
def test_a_damaged_search_is_one_line_with_its_name(tmp_path, content):
    path = tmp_path / "search.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"search\.json must be a search, with a value for each"):
        read_searches(path)
