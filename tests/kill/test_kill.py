"""Studies that are killed at random moments end with the numbers of an undisturbed one."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.torch import load_file

from symsets.experiments.study.experiment import EXPERIMENTS
from symsets.experiments.study.records import read_records

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
SMALL = ("signals",)  # in every test; the others in make fuzz


class Server:
    """Starts commands, and knows when they have ended."""

    def __init__(self, log):
        self.log = str(log)
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "ready\n"

    def start(self, *words):
        self.process.stdin.write(json.dumps([self.log, *words]) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=60)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Server(tmp_path_factory.mktemp("server") / "log.txt")
    yield made
    made.close()


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait(*pids, seconds=120.0):
    """Wait until processes have ended, or for some time; return whether they have."""
    end = time.monotonic() + seconds
    while any(map(is_running, pids)):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def words(experiment, out):
    if experiment == "orbits":
        return ["run", "orbits", "--steps", "3", "--out", str(out)]
    return ["run", experiment, "--preset", "smoke", "--out", str(out)]


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


@pytest.mark.parametrize("experiment", [*EXPERIMENTS, "orbits"])
def test_a_killed_study_ends_with_the_numbers_of_an_undisturbed_one(
    experiment, server, tmp_path, large
):
    if not large and experiment not in SMALL:
        pytest.skip("in make fuzz")
    rng, whole = random.Random(experiment), tmp_path / "whole"
    begin = time.monotonic()
    assert wait(server.start(*words(experiment, whole)))
    duration = time.monotonic() - begin
    expected = measured(whole)
    assert len(expected[0]) > 1
    killed, out = 0, tmp_path / "killed"
    while killed < (20 if large else 4):
        both = [server.start(*words(experiment, out)) for _ in range(1 + killed % 2)]
        if wait(*both, seconds=rng.uniform(0, duration)):  # it is through
            assert measured(out) == expected
            out = tmp_path / f"killed-{killed}"
        for pid in both:
            if is_running(pid):
                os.kill(pid, signal.SIGKILL)
                killed += 1
        wait(*both)
    assert wait(server.start(*words(experiment, out)))
    assert measured(out) == expected, Path(server.log).read_text()[-2000:]
    assert not [*out.rglob("*.part"), *out.rglob("*.lock"), *out.rglob("*.ckpt")]
    assert "Error" not in Path(server.log).read_text(), Path(server.log).read_text()[-2000:]
