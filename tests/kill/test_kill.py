"""Studies that are killed at random moments end with the numbers of an undisturbed one."""

import random
import time

import pytest
from safetensors.torch import load_file

from symsets.experiments.study.experiment import EXPERIMENTS
from symsets.experiments.study.records import read_records

pytestmark = pytest.mark.slow
SMALL = ("signals",)  # in every test; the others in make fuzz


def words(experiment, out):
    if experiment == "orbits":
        return ["run", "orbits", "--steps", "3", "--out", out]
    return ["run", experiment, "--preset", "smoke", "--out", out]


def measured(out):
    """Return all numbers of a study, and the weights of its networks."""
    records = read_records(out / "results.json")
    numbers = {
        (r.setting, r.model, r.train_size, r.seed, r.metric): (r.value, r.epochs, r.test_size)
        for r in records
    }
    weights = {
        path.parent.name: {key: value.tolist() for key, value in load_file(path).items()}
        for path in out.glob("runs/*/model.safetensors")
    }
    return numbers, weights


@pytest.fixture(scope="module", params=[*EXPERIMENTS, "orbits"])
def undisturbed(request, server, tmp_path_factory):
    """Return an experiment, how long it takes and what it measures."""
    if request.param not in SMALL and not request.config.getoption("--large"):
        pytest.skip("in make fuzz")
    out, begin = tmp_path_factory.mktemp("whole") / "study", time.monotonic()
    assert server.wait(server.start(*words(request.param, out)))
    duration, expected = time.monotonic() - begin, measured(out)
    assert len(expected[0]) > 1
    return request.param, duration, expected


def test_a_killed_study_ends_with_the_numbers_of_an_undisturbed_one(
    undisturbed, server, tmp_path, large
):
    experiment, duration, expected = undisturbed
    rng, killed, out = random.Random(experiment), 0, tmp_path / "killed"
    while killed < (20 if large else 4):
        one = server.start(*words(experiment, out))
        if server.wait(one, seconds=rng.uniform(0, duration)):  # it is through
            assert measured(out) == expected
            out = tmp_path / f"killed-{killed}"
        killed += server.kill(one)
    assert server.wait(server.start(*words(experiment, out)))
    said = server.log.read_text()
    assert measured(out) == expected, said[-2000:]
    assert not [*out.rglob("*.part"), *out.rglob("*.lock"), *out.rglob("*.ckpt")]
    assert "Error" not in said, said[-2000:]
