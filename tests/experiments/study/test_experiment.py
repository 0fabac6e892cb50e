"""What every experiment promises to the study that runs it."""

import pytest

from symsets.experiments.study.experiment import EXPERIMENTS, Experiment, Preset, find_experiment


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments_are_found_by_their_names(name):
    experiment = find_experiment(name)
    assert isinstance(experiment, Experiment)
    assert experiment.name == name
    assert list(experiment.presets) == ["smoke", "quick", "paper"]
    assert all(
        set(preset.models) <= set(experiment.models) for preset in experiment.presets.values()
    )


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_stories_fit_80_columns(name):
    lines = find_experiment(name).story.split("\n")
    assert [line for line in lines if len(line) > 79] == []
    assert all(line == line.strip() != "" for line in lines)


def test_an_unknown_experiment_is_named_beside_those_that_exist():
    with pytest.raises(
        ValueError, match=r"experiment must be one of \['signals', .*, got 'signal'"
    ):
        find_experiment("signal")


def test_sizes_take_the_epochs_of_their_nearest_neighbour():
    preset = Preset(("dss-sum",), train_sizes=(30_000, 10_000, 300), epochs=(30, 40, 200))
    assert [preset.epochs_at(n) for n in (40_000, 9000, 300, 1)] == [30, 40, 200, 200]


def test_an_experiment_must_say_what_its_sets_and_networks_are():
    with pytest.raises(NotImplementedError):
        Experiment().make_sets(None, "", "train", 1, "cpu", 0)
    with pytest.raises(NotImplementedError):
        Experiment().make_network("dss-sum", "ours", 1.0, "", None)
