"""What `symsets run` says before it starts fits a terminal."""

from importlib import import_module

import pytest


@pytest.mark.parametrize(
    "name", ["signals", "quality", "colors", "bursts", "frames", "shapes", "views"]
)
def test_stories_fit_80_columns(name):
    lines = import_module(f"symsets.experiments.{name}.experiment").EXPERIMENT.story.split("\n")
    assert [line for line in lines if len(line) > 79] == []
    assert all(line == line.strip() != "" for line in lines)
