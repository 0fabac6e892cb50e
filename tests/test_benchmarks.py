import sys
from importlib import import_module
from pathlib import Path

import pytest
import torch

from symsets.experiments.views.experiment import ViewsExperiment

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


class OpenedError(Exception):
    """Holds the data that were opened."""


def test_a_step_is_measured_on_the_data_of_its_experiment(monkeypatch):
    def open_source(self, data, seed):
        raise OpenedError(data)

    monkeypatch.syspath_prepend(str(BENCHMARKS))
    main = import_module("images_step").main
    monkeypatch.setattr(ViewsExperiment, "open_source", open_source)
    for words, expected in (([], "embedded"), (["--data", "my/meshes"], "my/meshes")):
        monkeypatch.setattr(sys, "argv", ["images_step.py", "--experiment", "views", *words])
        with pytest.raises(OpenedError, match=expected):
            main()


def test_merging_measures_only_what_is_not_kept(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    merging = import_module("merging")
    setting = merging.Setting(25, 2)
    for name, value in (("MAIN", [setting]), ("NUMBERS", []), ("CLEAN", [])):
        monkeypatch.setattr(merging, name, value)
    calls = []

    def counted(shots, noise):
        calls.append(noise)
        return shots.mean(0)

    photo, file = torch.rand(3, 320, 320), tmp_path / "kept.json"
    table = {"mean": merging.Row(counted), "one": merging.Row(lambda x, noise: x[0], single=True)}
    first = merging.measure("a/b", photo, table, "", file)
    assert merging.measure("a/b", photo, table, "", file) == first
    assert calls == [25]
    value, _ = first[setting]["one"]
    assert abs(value - 20.3) < 0.8  # noise 25, some of it clipped
    record = next(r for r in merging.summary({"a/b": first}) if r["row"] == "one")
    assert record["psnr"] == round(value, 3)
