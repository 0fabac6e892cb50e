import sys
from importlib import import_module
from pathlib import Path

import pytest

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
