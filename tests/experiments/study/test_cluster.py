"""Studies on Ray."""

import json
import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from symsets.cli import app
from symsets.experiments.signals import experiment as signals
from symsets.experiments.study.records import read_records
from symsets.nn.registry import unregister_scheme

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'symsets[cluster]'")

# Counts its calls in training; kills its worker in the first one that a checkpoint precedes.
MORTAL = """
import os, signal
from pathlib import Path
from symsets import DSS, register_scheme

HERE = Path({folder!r})

class Mortal(DSS):
    def forward(self, x):
        if self.training:
            with (HERE / "calls").open("a") as file:
                file.write(".")
            if list(HERE.glob("ray/unfinished/mortal-*.ckpt")) and not (HERE / "killed").exists():
                (HERE / "killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return super().forward(x)

@register_scheme("mortal")
def build(make, in_channels, out_channels, *, size):
    return Mortal(make(in_channels, out_channels), pool="mean")
"""


@pytest.fixture
def two_nodes():
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 1, "include_dashboard": False}  # nobody looks at it
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.add_node(num_cpus=1)
    yield cluster.address
    cluster.shutdown()


@pytest.mark.slow
@pytest.mark.usefixtures("no_report")
def test_a_study_whose_worker_is_killed_has_the_numbers_of_a_plain_one(
    tmp_path, two_nodes, monkeypatch
):
    tiny = replace(signals.PRESETS["smoke"], train_sizes=(32,), test_size=16, width=0.03)
    monkeypatch.setitem(signals.PRESETS, "smoke", tiny)
    (tmp_path / "mortal.py").write_text(MORTAL.format(folder=str(tmp_path)))
    words = ["run", "signals", "--preset", "smoke", "--models", "mortal,mlp", "--lr", "search"]
    words += ["--import", str(tmp_path / "mortal.py")]
    runs = {"plain": [], "ray": ["--ray", two_nodes]}
    calls, numbers, searches, said = {}, {}, {}, {}
    for name, more in runs.items():
        try:
            found = CliRunner().invoke(app, [*words, *more, "--out", str(tmp_path / name)])
        finally:
            unregister_scheme("mortal")
        assert found.exit_code == 0, found.output
        said[name] = found.output
        calls[name] = len((tmp_path / "calls").read_text())
        (tmp_path / "calls").unlink()
        records = read_records(tmp_path / name / "results.json")
        numbers[name] = [replace(record, seconds=0.0) for record in records]
        searches[name] = json.loads((tmp_path / name / "search.json").read_text())
    assert (tmp_path / "killed").exists()
    assert numbers["ray"] == numbers["plain"]
    assert searches["ray"] == searches["plain"]
    assert calls["ray"] == calls["plain"] + 1  # no finished epoch was trained again
    assert re.search(r"mortal, 32 sets, seed 0 .* done .* 2/2 .* 2 ", said["ray"]), said["ray"]
    assert not list((tmp_path / "ray").glob("unfinished/*"))
