"""The experiment on weights of small networks."""

import json

import pytest
import torch

from symsets.cli.options import RunOptions
from symsets.experiments.study.describe import make_study
from symsets.experiments.weights.experiment import WeightsExperiment


def test_a_study_of_digits_runs_and_also_tests_reordered_networks(tmp_path):
    options = RunOptions(
        preset="smoke", train_sizes="64", epochs=2, out=tmp_path / "study", models="acting,mlp"
    )
    study = make_study(WeightsExperiment(), options)
    study.prepare()
    records = [record for group in study.groups for record in study.run_group(group)]
    assert [(r.model, r.metric, r.data, r.test_size) for r in records] == [
        (model, metric, "digits", 64)
        for model in ("acting", "mlp")
        for metric in ("accuracy", "accuracy/reordered")
    ]
    assert records[0].value == records[1].value  # the order of neurons says nothing
    kept = json.loads((tmp_path / "study" / "results.json").read_text())["records"]
    assert len(kept) == 4


def test_networks_of_a_study_are_fitted_once():
    experiment = WeightsExperiment()
    source = experiment.open_source("embedded", 0)
    one, other = (experiment.make_sets(source, "own-start", "val", 8, "cpu", 0) for _ in range(2))
    assert one.x.data_ptr() == other.x.data_ptr()
    assert torch.isfinite(one.x).all()


@pytest.mark.parametrize("typed", ["dss-sum", "dss-power3", "acting,dss-smu"])
def test_schemes_for_sets_are_no_models_here(tmp_path, typed):
    options = RunOptions(preset="smoke", out=tmp_path, models=typed)
    with pytest.raises(ValueError, match=r"some of \['acting', .*'mlp-reordered'\], got") as error:
        make_study(WeightsExperiment(), options)
    assert "siamese" not in str(error.value)


def test_width_scales_the_channels():
    experiment = WeightsExperiment()
    source = experiment.open_source("embedded", 0)
    assert (
        experiment.make_network("dws", "ours", 0.5, "own-start", source).arguments["channels"] == 8
    )
