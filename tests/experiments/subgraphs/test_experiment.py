"""The experiment on sets of subgraphs."""

import json
from dataclasses import replace

import pytest

from symsets.cli.options import RunOptions
from symsets.experiments.study.describe import make_study
from symsets.experiments.subgraphs.experiment import PRESETS, SubgraphsExperiment


def test_a_study_of_csl_runs_and_names_its_settings(tmp_path):
    options = RunOptions(preset="smoke", models="dss-mean", epochs=1, out=tmp_path / "study")
    study = make_study(SubgraphsExperiment(), options)
    study.prepare()
    records = [record for group in study.groups for record in study.run_group(group)]
    assert [(r.setting, r.data, r.test_size) for r in records] == [
        ("csl-whole", "CSL", 10),
        ("csl-node-deleted", "CSL", 10),
    ]
    kept = json.loads((tmp_path / "study" / "results.json").read_text())["records"]
    assert len(kept) == 2


def test_more_graphs_than_there_are_for_training_are_refused():
    experiment = SubgraphsExperiment()
    preset = replace(PRESETS["paper"], train_sizes=(91,))
    with pytest.raises(ValueError, match="CSL has 90 graphs for training, but 91 are asked for"):
        experiment.check_source(experiment.open_source("embedded", 0), preset)


def test_settings_are_those_of_the_data():
    experiment = SubgraphsExperiment()
    allowed = experiment.settings_of(experiment.open_source("embedded", 0))
    assert allowed == ("csl-whole", "csl-node-deleted", "csl-edge-deleted", "csl-ego")
    assert set(allowed) < set(experiment.settings)
