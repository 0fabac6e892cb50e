"""The published numbers against the paper's text."""

import pytest

from symsets.experiments.report.published import published
from symsets.experiments.study.experiment import EXPERIMENTS

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
    paper = published(experiment)
    number = paper.numbers[setting, model]
    scale = 100 if paper.metric == "accuracy" else 1
    assert number.mean == pytest.approx(float(mean) / scale)
    assert number.std == (pytest.approx(float(std) / scale) if std else None)


def test_every_table_is_complete():
    rows = {"frames": 1, "shapes": 2, "quality": 6, "colors": 2, "bursts": 1, "views": 4}
    counts = {e: len({setting for setting, _ in published(e).numbers}) for e in rows}
    assert counts == rows
    numbers = sum(len(published(e).numbers) for e in EXPERIMENTS)
    satellite, subgraphs, weights = 2 * 7, 2 * 4, 1  # beside those of the paper
    assert numbers == 6 + 2 * 7 + 6 * 6 + 3 * 6 + 4 * 2 + satellite + subgraphs + weights
    assert sum(len(published(e).claims) for e in EXPERIMENTS) == 4 + 1 + 3 + 1 + 1 + 2 + 2
    assert all(published(e).task and published(e).data for e in EXPERIMENTS)


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
    paper = published(experiment)
    means = {model: paper.numbers[setting, model].mean for model in paper.models(setting)}
    choose = max if paper.metric == "accuracy" else min
    assert choose(means, key=means.get) == best


def test_signals_have_claims_and_times_but_no_numbers():
    paper = published("signals")
    assert not paper.numbers
    time = paper.training_time("")
    assert "15 minutes for MLP to 5 hours" in time.sentence
    assert paper.chance_at("") == pytest.approx(1 / 3)


def test_a_setting_has_the_training_time_of_its_own_or_that_of_all():
    assert published("shapes").training_time("graphs").sentence == "Training took about 20 hours."
    assert published("shapes").training_time("full-points") is None
    assert "4.5 hours for DSS" in published("quality").training_time("gaussian-30").sentence


def test_nothing_is_invented():
    assert ("", "mlp") not in published("frames").numbers
    assert published("../signals") == published("mine")  # a name is no path
    assert published("mine").claims == ()
    assert published("mine").training_time("") is None
    assert published("colors").chance_at("places") is None
