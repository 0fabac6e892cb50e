"""The published numbers against the paper's text."""

import pytest

from symsets.experiments.report.published import (
    NUMBERS,
    chance,
    claims,
    published,
    published_models,
    training_times,
)

# As printed in the paper, per cent for accuracies.
PRINTED = """
frames||siamese-ds|36.41|1.43
frames||aittala|77.96|1.69
frames||random|12.5|
shapes|points|sridhar|54.26|1.66
shapes|graphs|siamese-ds|26.53|1.99
shapes|graphs|aittala|26.66|4.25
shapes|points|mean-shape|34.47|
quality|gaussian-10|dss-sum|78.48|0.48
quality|gaussian-30|sridhar|61.52|0.54
quality|gaussian-50|dss-max|61.59|1.00
quality|occlusion-10|sridhar|83.21|0.338
quality|occlusion-30|dss-sum|78|0.89
quality|occlusion-50|aittala|77.03|0.58
quality|occlusion-50|random|5|
colors|places|siamese-ds|8.06|0.06
colors|celeba|dss-sum|1.27|0.07
colors|celeba|grey|18.72|
bursts||sridhar|21.01|0.08
bursts||aittala|5.7|0.13
bursts||median|16.75|
views|cars|dss-sum|0.1273|
views|chairs|sridhar|0.1845|
views|average|dss-sum|0.1593|
"""


@pytest.mark.parametrize("line", PRINTED.split())
def test_numbers_are_those_of_the_paper_in_our_units(line):
    experiment, setting, model, mean, std = line.split("|")
    number = published(experiment, setting, model)
    scale = 100 if number.metric == "accuracy" else 1
    assert number.mean == pytest.approx(float(mean) / scale)
    assert number.std == (pytest.approx(float(std) / scale) if std else None)
    assert number.unit == {"accuracy": "0-1", "mae": "0-255", "chamfer": "x100"}[number.metric]


def test_every_table_is_complete():
    rows = {"frames": 1, "shapes": 2, "quality": 6, "colors": 2, "bursts": 1, "views": 4}
    assert {e: len({s for x, s, _ in NUMBERS if x == e}) for e in rows} == rows
    assert len(NUMBERS) == 6 + 2 * 7 + 6 * 6 + 3 * 6 + 4 * 2


@pytest.mark.parametrize(
    ("experiment", "setting", "best"),
    [
        ("frames", "", "aittala"),
        ("shapes", "points", "sridhar"),
        ("shapes", "graphs", "sridhar"),
        ("quality", "gaussian-10", "dss-sum"),
        ("quality", "gaussian-30", "dss-sum"),
        ("quality", "gaussian-50", "dss-sum"),
        ("quality", "occlusion-10", "dss-max"),
        ("quality", "occlusion-30", "sridhar"),
        ("quality", "occlusion-50", "dss-sum"),
        ("colors", "places", "aittala"),
        ("colors", "celeba", "aittala"),
        ("bursts", "", "aittala"),
        ("views", "cars", "dss-sum"),
        ("views", "airplanes", "dss-sum"),
        ("views", "chairs", "sridhar"),
        ("views", "average", "dss-sum"),
    ],
)
def test_the_best_of_each_row_is_what_the_paper_prints_bold(experiment, setting, best):
    means = {
        m: published(experiment, setting, m).mean for m in published_models(experiment, setting)
    }
    choose = max if published(experiment, setting, best).metric == "accuracy" else min
    assert choose(means, key=means.get) == best


def test_signals_have_claims_and_times_but_no_numbers():
    assert published("signals", "", "dss-sum") is None
    assert len(claims("signals")) == 4
    sentence, times = training_times("signals")
    assert "15 minutes for MLP to 5 hours" in sentence
    assert {time.model: time.hours for time in times} == {"mlp": 0.25, "aittala": 5}
    assert chance("signals") == pytest.approx(1 / 3)


def test_nothing_is_invented():
    assert published("frames", "", "mlp") is None
    assert claims("mine") == ()
    assert training_times("mine") == ("", ())
    assert chance("colors", "places") is None
