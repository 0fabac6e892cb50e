import pytest
import torch

from symsets.experiments.satellite.experiment import EXPERIMENT, MODELS
from symsets.experiments.satellite.generated import GeneratedScenes
from symsets.experiments.satellite.metric import cpsnr
from symsets.train.fitting import fit_together

SOURCE = GeneratedScenes(side=16)


def sets(experiment, split, num):
    return experiment.make_sets(SOURCE, "RED", split, num, "cpu", 0)


def parameters(model, width=1.0):
    network = EXPERIMENT.make_network(model, "ours", width, "RED", SOURCE)
    return sum(parameter.numel() for parameter in network.parameters())


@pytest.mark.parametrize("model", MODELS)
def test_every_model_learns(model):
    torch.manual_seed(0)
    network = EXPERIMENT.make_network(model, "ours", 0.125, "RED", SOURCE)
    plan = EXPERIMENT.make_plan("ours", 2, "RED")
    train, val = sets(EXPERIMENT, "train", 9), sets(EXPERIMENT, "val", 2)
    [found] = fit_together([network], [0], plan, train, val, EXPERIMENT.task)
    assert not found.failed
    before = network.state_dict()
    assert any(not torch.equal(value, before[name]) for name, value in found.best.items())


@pytest.mark.parametrize("width", [1.0, 0.5, 0.25])
def test_wide_siamese_has_the_parameters_of_dss(width):
    wanted = parameters("dss-mean", width)
    assert abs(parameters("siamese-wide", width) / wanted - 1) < 0.02
    assert parameters("siamese", width) < 0.95 * wanted


def test_wide_siamese_differs_in_channels_alone():
    narrow, wide = (
        EXPERIMENT.make_network(model, "ours", 1.0, "RED", SOURCE).arguments
        for model in ("siamese", "siamese-wide")
    )
    assert wide.pop("channels") == 80
    assert narrow.pop("channels") == 64
    assert narrow == wide


def test_late_siamese_is_not_given_the_mean():
    usual, late = (
        EXPERIMENT.make_network(model, "ours", 0.125, "RED", SOURCE).arguments
        for model in ("siamese", "siamese-late")
    )
    assert usual.pop("gives_mean")
    assert not late.pop("gives_mean")
    assert usual == late


def test_more_is_measured_in_the_precision_of_a_network():
    network = EXPERIMENT.make_network("dss-mean", "ours", 0.125, "RED", SOURCE)
    single, double = (
        EXPERIMENT.measure_more(network.to(dtype), SOURCE, "RED", 2, "cpu")
        for dtype in (torch.float32, torch.float64)
    )
    assert "cpsnr/eight turns" in single
    torch.testing.assert_close(single, double, check_dtype=False, rtol=1e-3, atol=1e-3)


def test_the_score_is_that_of_the_challenge():
    source = GeneratedScenes(side=16)
    test = sets(EXPERIMENT, "test", 2)
    object.__setattr__(source, "norms", dict.fromkeys(test.names, 40.0))
    network = EXPERIMENT.make_network("siamese", "ours", 0.125, "RED", source)
    found = EXPERIMENT.measure_more(network, source, "RED", 2, "cpu")
    with torch.no_grad():
        x, y = test.part(0, 2)
        expected = 40 / cpsnr(network(x), y)
    torch.testing.assert_close(found["score"], expected, rtol=1e-4, atol=1e-4)
    object.__setattr__(source, "norms", {test.names[0]: 40.0})  # not of all scenes
    assert "score" not in EXPERIMENT.measure_more(network, source, "RED", 2, "cpu")
