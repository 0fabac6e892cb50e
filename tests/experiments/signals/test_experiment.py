"""The signals experiment from the command line, as a person runs it, interrupts it, misuses it."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import symsets
from symsets.cli import app
from symsets.cli.options import RunOptions
from symsets.experiments.signals import experiment as signals
from symsets.experiments.study import study
from symsets.experiments.study.describe import make_study
from symsets.experiments.study.records import read_records, write_records
from symsets.experiments.study.study import Study
from symsets.train.checkpoints import Checkpoint

runner = CliRunner()
TINY = ["run", "signals", "--preset", "smoke"]


@pytest.fixture(autouse=True)
def _tiny_preset(monkeypatch):
    tiny = replace(signals.PRESETS["smoke"], train_sizes=(128,), test_size=100, width=0.03)
    monkeypatch.setitem(signals.PRESETS, "smoke", tiny)


def run(out, *arguments):
    return runner.invoke(app, [*TINY, "--out", str(out), *arguments])


def test_a_study_leaves_results_runs_and_a_page(tmp_path):
    out = tmp_path / "study"
    result = run(out, "--seeds", "2")
    assert result.exit_code == 0, result.output
    assert "25 noisy copies" in result.output
    records = read_records(out / "results.json")
    assert {(r.model, r.seed) for r in records} == {
        (model, seed) for model in ("dss-sum", "siamese") for seed in (0, 1)
    }
    assert all(r.experiment == "signals" and r.metric == "accuracy" for r in records)
    path = out / "runs" / "dss-sum-ours-128-seed1"
    assert {p.name for p in path.iterdir()} == {
        "predictions.npz",
        "done.json",
        "network.json",
        "model.safetensors",
    }
    assert (out / "report.html").exists()
    assert not list((out / "unfinished").glob("*"))


@pytest.mark.usefixtures("no_report")
def test_the_network_comes_back_and_predicts_the_same(tmp_path):
    out = tmp_path / "study"
    run(out, "--models", "dss-sum")
    path = out / "runs" / "dss-sum-ours-128-seed0"
    net = symsets.load(path)
    x = signals.Signals().make("test", 100).x
    with pytest.warns(match="only nearly equivariant"):
        scores = net(x)
    assert not net.training
    with np.load(path / "predictions.npz") as file:
        kept = dict(file)
    torch.testing.assert_close(scores, torch.as_tensor(kept["output"]), rtol=1e-4, atol=1e-5)
    accuracy = (kept["output"].argmax(1) == kept["target"]).mean()
    assert read_records(out / "results.json")[0].value == pytest.approx(accuracy)


@pytest.mark.usefixtures("no_report")
def test_finished_runs_are_not_repeated_and_new_ones_are_added(tmp_path):
    out = tmp_path / "study"
    run(out, "--models", "dss-sum")
    stamp = (out / "runs" / "dss-sum-ours-128-seed0" / "done.json").stat().st_mtime_ns
    result = run(out, "--models", "dss-sum,mlp")
    assert "1 run to go" in result.output
    assert (out / "runs" / "dss-sum-ours-128-seed0" / "done.json").stat().st_mtime_ns == stamp
    assert {r.model for r in read_records(out / "results.json")} == {"dss-sum", "mlp"}
    assert "all runs are finished" in run(out, "--models", "dss-sum,mlp").output


def test_a_kill_between_a_run_and_its_records_loses_nothing(tmp_path):
    assert run(tmp_path).exit_code == 0
    path = tmp_path / "results.json"
    records = read_records(path)
    write_records(path, records[:1])
    assert "Siamese" in run(tmp_path).output
    assert read_records(path) == records
    path.unlink()
    assert run(tmp_path).exit_code == 0
    assert read_records(path) == records


def test_an_interrupt_is_one_line_and_status_130(tmp_path, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("symsets.train.training.Training.validate", interrupt)
    result = run(tmp_path / "study", "--models", "mlp")
    assert result.exit_code == 130
    assert "the same command continues" in result.stderr


@pytest.mark.usefixtures("no_report")
def test_the_learning_rate_search_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "SEARCH_EPOCHS", 1)
    out = tmp_path / "study"
    assert run(out, "--models", "mlp", "--lr", "search").exit_code == 0
    found = json.loads((out / "search.json").read_text())
    assert len(found["mlp"]) > 4
    best = max(found["mlp"], key=found["mlp"].get)
    done = json.loads((out / "runs" / "mlp-ours-128-seed0" / "done.json").read_text())
    assert done["config"]["learning_rate"] == float(best)


def test_a_failed_run_is_recorded_and_the_others_go_on(tmp_path, monkeypatch):
    make = Study.network

    def broken(self, setting, model, seed):
        net = make(self, setting, model, seed)
        if model == "siamese":
            with torch.no_grad():
                next(net.parameters()).fill_(torch.nan)
        return net

    monkeypatch.setattr(Study, "network", broken)
    out = tmp_path / "study"
    result = run(out, "--models", "siamese,dss-sum")
    assert result.exit_code == 0, result.output
    assert "siamese, seed 0: the loss became NaN" in result.output
    by_model = {r.model: r.value for r in read_records(out / "results.json")}
    assert by_model["siamese"] != by_model["siamese"]
    assert 0 <= by_model["dss-sum"] <= 1
    assert json.loads((out / "results.json").read_text())["records"][1]["value"] is None


@pytest.mark.usefixtures("no_report")
def test_another_configuration_is_refused(tmp_path):
    out = tmp_path / "study"
    run(out, "--models", "mlp")
    before = (out / "results.json").read_bytes()
    result = run(out, "--models", "mlp", "--recipe", "published")
    assert result.exit_code == 2
    assert "another configuration (recipe: ours → published)" in result.stderr
    assert (out / "results.json").read_bytes() == before


def test_a_folder_with_other_things_is_refused(tmp_path):
    (tmp_path / "letters.txt").write_text("dear")
    result = run(tmp_path)
    assert result.exit_code == 2
    assert "must be empty or hold runs of this study" in result.stderr


@pytest.mark.usefixtures("no_report")
def test_an_unreadable_checkpoint_is_one_line_and_loses_nothing(tmp_path):
    out = tmp_path / "study"
    run(out, "--models", "mlp")
    (out / "unfinished" / "dss-sum-128-0.ckpt").write_bytes(b"torn")
    result = run(out, "--models", "mlp,dss-sum")
    assert result.exit_code == 2
    assert "cannot be read" in result.stderr
    assert len(read_records(out / "results.json")) == 1


@pytest.mark.usefixtures("no_report")
@pytest.mark.parametrize("checkpoints", [True, False])
def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path, monkeypatch, small_files, checkpoints):
    out = tmp_path / "study"
    run(out, "--models", "mlp")
    if not checkpoints:  # then it is the network that does not fit
        monkeypatch.setattr(Checkpoint, "save", lambda *args: None)
    with small_files(4096):
        result = run(out, "--models", "mlp,dss-sum")
    assert result.exit_code == 2, result.exception
    assert result.stderr.strip() == "symsets: File too large"
    assert len(read_records(out / "results.json")) == 1
    assert not list(out.glob("**/*.part"))
    assert run(out, "--models", "mlp,dss-sum").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "dss"], "models must be some of ['mlp',"),
        (["--preset", "small"], "preset must be one of ['smoke', 'quick', 'paper'], got 'small'"),
        (["--recipe", "mine"], "recipe must be one of ['ours', 'published'], got 'mine'"),
        (["--train-sizes", "many"], "train-sizes must be numbers joined by commas, got 'many'"),
        (["--train-sizes", "0"], "train-sizes must be positive"),
        (["--lr", "fast"], "lr must be a number or 'search', got 'fast'"),
        (["--lr", "-1"], "lr must be positive"),
        (["--lr", "inf"], "lr must be positive and finite"),
        (["--precision", "half"], "precision must be one of"),
        (["--device", "gpu"], "device must be one of"),
    ],
)
def test_mistakes_get_one_line_and_status_2(tmp_path, arguments, message):
    result = run(tmp_path / "study", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "study").exists()


@pytest.mark.usefixtures("no_report")
def test_seeds_can_be_trained_together(tmp_path):
    out = tmp_path / "study"
    assert run(out, "--models", "dss-sum", "--seeds", "2", "--together").exit_code == 0
    done = json.loads((out / "runs" / "dss-sum-ours-128-seed1" / "done.json").read_text())
    assert done["config"]["seeds_together"] == [0, 1]


def together(out):
    options = RunOptions(out=out, preset="smoke", models="dss-sum", seeds=3, together=True)
    return make_study(signals.EXPERIMENT, options)


class StoppedError(Exception):
    pass


def test_seeds_that_began_together_end_so_after_an_interrupt(tmp_path, monkeypatch):
    begun, finish = together(tmp_path), Study._finish

    def interrupted(self, group, seed, *args):
        if seed == 1:
            raise StoppedError
        return finish(self, group, seed, *args)

    monkeypatch.setattr(Study, "_finish", interrupted)
    with pytest.raises(StoppedError):
        begun.run_group(begun.groups[0])
    monkeypatch.setattr(Study, "_finish", finish)
    again, epochs = together(tmp_path), []
    (group,) = again.groups
    assert group.seeds == (1, 2)
    records = again.run_group(group, lambda epoch, value: epochs.append(epoch))
    assert [record.seed for record in records] == [1, 2]
    assert epochs == []  # nothing was trained again
    assert not list((tmp_path / "unfinished").glob("*.ckpt"))


def test_seeds_that_began_together_go_on_without_one_that_is_finished(tmp_path):
    def stop(epoch, value):
        if epoch == 2:
            raise StoppedError

    begun = together(tmp_path)
    with pytest.raises(StoppedError):
        begun.run_group(begun.groups[0], stop)
    options = RunOptions(out=tmp_path, preset="smoke", models="dss-sum", seeds=3)
    alone = make_study(signals.EXPERIMENT, options)
    alone.run_group(alone.groups[1])
    again = together(tmp_path)
    assert again.groups[0].seeds == (0, 2)
    again.run_group(again.groups[0])
    assert not together(tmp_path).groups
    assert not list((tmp_path / "unfinished").glob("*.ckpt"))
