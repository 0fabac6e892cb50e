"""The directory of a study."""

from typer.testing import CliRunner

from symsets.cli import app
from symsets.experiments.study.runs import lock_study


def test_a_second_process_at_a_study_is_refused_until_the_first_has_ended(tmp_path):
    words = ["run", "signals", "--preset", "smoke", "--models", "mlp", "--out", str(tmp_path / "a")]
    (tmp_path / "a").mkdir()
    with lock_study(tmp_path / "a"):
        refused = CliRunner().invoke(app, words)
    assert (refused.exit_code, len(refused.stderr.splitlines())) == (2, 1)
    assert f"{tmp_path / 'a'} must not be in use by another process: wait" in refused.stderr
    assert CliRunner().invoke(app, words).exit_code == 0
    assert not (tmp_path / "a" / ".lock").exists()


def test_a_study_is_locked_while_it_runs(tmp_path, monkeypatch):
    found = []

    def second(study):
        found.append(CliRunner().invoke(app, [*words, "--seeds", "2"]))

    words = ["run", "signals", "--preset", "smoke", "--models", "mlp", "--out", str(tmp_path)]
    monkeypatch.setattr("symsets.experiments.study.study.Study.prepare", second)
    assert CliRunner().invoke(app, words).exit_code == 0
    assert [one.exit_code for one in found] == [2]
