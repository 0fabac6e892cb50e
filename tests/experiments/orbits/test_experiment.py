"""Where the experiment on orbits writes, and where it does not."""

import pytest
from typer.testing import CliRunner

from symsets._files import write_json
from symsets.cli import app
from symsets.experiments.study.records import Record, read_records, write_records

COLORS = Record(experiment="colors", model="dss-sum", metric="mae", value=2.0)
ORBITS = Record(experiment="orbits", model="siamese", metric="accuracy", value=0.5)


def run(out):
    return CliRunner().invoke(app, ["run", "orbits", "--steps", "1", "--out", str(out)])


def test_the_same_command_may_be_repeated_and_concludes_nothing_from_one_step(tmp_path):
    out = tmp_path / "study [1]"
    for _ in range(2):
        result = run(out)
        assert result.exit_code == 0
        assert str(out / "orbits.png") in result.output
        said = " ".join(result.output.split())
        assert "Training was too short for DSS(powers), one layer" in said
    assert len(read_records(out / "results.json")) == 8


@pytest.mark.parametrize("described", [True, False])
def test_results_of_another_study_are_not_overwritten(tmp_path, described):
    write_records(tmp_path / "results.json", [ORBITS, COLORS])
    if described:
        write_json(tmp_path / "study.json", {"experiment": "colors"})
    result = run(tmp_path)
    assert result.exit_code == 2
    reason = "experiment: colors → orbits" if described else "must be empty or hold runs of this"
    assert reason in result.stderr
    assert read_records(tmp_path / "results.json") == [ORBITS, COLORS]
