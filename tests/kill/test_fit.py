"""A training that is killed ends with the numbers of an undisturbed one."""

import csv
import time

import pytest
import torch

import symsets


def rows(out):
    """Return what was measured in each epoch, without how long it took."""
    with open(out / "history.csv") as file:
        return [{**row, "seconds": None} for row in csv.DictReader(file)]


def begun(out, before):
    """Whether a process has written down an epoch since, so that it trains."""
    path = out / "history.csv"
    return path.exists() and path.stat().st_mtime_ns > before


@pytest.mark.slow
def test_a_killed_training_ends_with_the_numbers_of_an_undisturbed_one(server, tmp_path):
    whole, out = tmp_path / "whole", tmp_path / "killed"
    assert server.wait(server.start("fit", whole, 0))
    killed = 0
    for pause in (0.05, 0.2):
        before = (out / "history.csv").stat().st_mtime_ns if killed else 0
        process = server.start("fit", out, killed % 2)
        while server.is_running(process) and not begun(out, before):
            time.sleep(0.005)
        time.sleep(pause)
        killed += server.kill(process)
    assert killed
    assert server.wait(server.start("fit", out, 1))
    expected, found = symsets.load(whole), symsets.load(out)
    for a, b in zip(expected.parameters(), found.parameters(), strict=True):
        assert torch.equal(a, b)
    assert expected.card == found.card
    assert rows(whole) == rows(out)
    assert not list(out.glob("*.part"))
