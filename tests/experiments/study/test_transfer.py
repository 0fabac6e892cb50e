"""Trained networks of a study on other data."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

import symsets
from symsets._files import write_json
from symsets.cli import app
from symsets.cli.options import RunOptions
from symsets.experiments.colors import experiment as colors
from symsets.experiments.colors.sets import ColorSets
from symsets.experiments.shapes import experiment as shapes
from symsets.experiments.study.catalogue import image_source
from symsets.experiments.study.describe import data_slug, make_study
from symsets.experiments.study.evaluator import all_records
from symsets.experiments.study.records import read_records
from symsets.experiments.study.transfer import Trained, make_transfers, setting_on, trained_networks

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")
RUN = "runs/dead_leaves-dss-sum-ours-4-seed0"


@pytest.fixture(autouse=True)
def _tiny_preset(monkeypatch):
    monkeypatch.delenv("SYMSETS_DATA", raising=False)
    tiny = replace(
        colors.PRESETS["smoke"],
        models=("dss-sum", "siamese-ds"),
        train_sizes=(4,),
        epochs=(1,),
        test_size=3,
        batch_size=2,
        width=0.05,
    )
    monkeypatch.setitem(colors.PRESETS, "smoke", tiny)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return tmp_path_factory.mktemp("trained") / "study"


@pytest.fixture
def study(trained, tmp_path):
    """A study on dead leaves, made once and copied."""
    if not trained.exists():
        made = make_study(colors.EXPERIMENT, RunOptions(out=trained, preset="smoke", data="leaves"))
        for group in made.groups:
            made.run_group(group, lambda epoch, value: None)
    shutil.copytree(trained, tmp_path / "study")
    return tmp_path / "study"


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for seed in range(3):
        pixels = np.random.default_rng(seed).integers(256, size=(90, 90, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{seed}.png")
    return folder


def evaluate(*arguments):
    found = CliRunner().invoke(app, ["evaluate", *map(str, arguments)])
    return found.exit_code, " ".join(found.output.split())


def test_on_the_same_data_networks_get_the_same_numbers(study, tmp_path):
    for transfer in make_transfers(study, "leaves", tmp_path / "out"):
        for network in transfer.left():
            transfer.test(network)
    before = {r.model: r.value for r in read_records(study / "results.json")}
    after = {r.model: r.value for r in read_records(tmp_path / "out" / "results.json")}
    assert after.keys() == before.keys() == {"dss-sum", "siamese-ds"}
    for model, value in before.items():
        assert after[model] == pytest.approx(value, rel=1e-5)


def test_other_photographs_from_the_command_line(study, photos, tmp_path):
    out = tmp_path / "out"
    code, text = evaluate(study, "--data", photos, "--sets", 5, "--all", "--out", out)
    assert code == 0, text
    assert "photos (all), trained on dead leaves: 5 test sets, 2 of 2 networks to go" in text
    records = {r.model: r for r in read_records(out / "results.json")}
    assert records.keys() == {"dss-sum", "siamese-ds", "grey"}
    record = records["dss-sum"]
    assert record.data == "photos (all), trained on dead leaves"
    assert (record.train_size, record.test_size) == (4, 5)

    source = image_source(str(photos), size=80, seed=0)
    images = torch.cat([source.images(split) for split in ("test", "val", "train")])
    assert len(images) == 3
    x, y = ColorSets(images, 5, size=64, seed=0).part(0, 5)
    with torch.no_grad():
        answer = symsets.load(study / RUN)(x)
    assert record.value == pytest.approx(255 * (answer - y).abs().mean().item(), rel=1e-4)
    assert list(out.glob("figures/*-examples.png"))


def test_only_what_is_new_is_tested(study, tmp_path):
    def open_():
        return [t.name for t in make_transfers(study, "leaves", tmp_path / "out")[0].left()]

    assert open_() == ["dss-sum, seed 0", "siamese-ds, seed 0"]
    (transfer,) = make_transfers(study, "leaves", tmp_path / "out")
    for network in transfer.left():
        transfer.test(network)
    assert open_() == []
    weights = study / RUN / "model.safetensors"
    changed = {name: 2 * value for name, value in load_file(weights).items()}
    save_file(changed, weights)
    assert open_() == ["dss-sum, seed 0"]
    (transfer,) = make_transfers(study, "leaves", tmp_path / "out")
    before = all_records(tmp_path / "out")
    transfer.test(transfer.left()[0])
    after = all_records(tmp_path / "out")
    assert [a.value == b.value for a, b in zip(after, before, strict=True)] == [False, True]


def test_models_are_chosen_by_name(study, tmp_path):
    (transfer,) = make_transfers(study, "leaves", tmp_path / "out", models="siamese-ds")
    assert [t.config["model"] for t in transfer.networks] == ["siamese-ds"]
    with pytest.raises(ValueError, match=r"models must be .*siamese-ds.*'dss-max'"):
        make_transfers(study, "leaves", tmp_path / "out", models="dss-max")


def set_data(run, name):
    """Let a run say that it was trained on other data."""
    done = json.loads((run / "done.json").read_text())
    del done["sha256"]
    write_json(run / "done.json", {**done, "config": {**done["config"], "data": name}})


def test_networks_of_other_data_are_told_apart(study, tmp_path):
    other = study / f"{RUN}-other"
    shutil.copytree(study / RUN, other)
    set_data(other, "faces")
    transfers = make_transfers(study, "leaves", tmp_path / "out")
    names = {t.name: [n.config["model"] for n in t.networks] for t in transfers}
    assert names == {
        "dead leaves, trained on dead leaves": ["dss-sum", "siamese-ds"],
        "dead leaves, trained on faces": ["dss-sum"],
    }


def test_a_setting_that_the_data_do_not_have_is_named(tmp_path):
    network = Trained(tmp_path / "cars-dss-sum", {"setting": "cars"}, "")
    assert setting_on(["cars", "chairs"], network) == "cars"
    assert setting_on(["places"], network) == "places"  # their only one
    with pytest.raises(ValueError, match=r"allow the setting 'cars' of cars-dss-sum.*'chairs'"):
        setting_on(["chairs", "tables"], network)


def test_what_networks_were_trained_on_is_never_all_for_the_test(study, photos, tmp_path):
    (study / RUN).rename(study / f"{data_slug(str(photos), image_source(str(photos), size=80))}-x")
    moved = next(study.glob("photos*"))
    moved.rename(study / "runs" / moved.name)
    code, text = evaluate(study, "--data", photos, "--all", "--out", tmp_path / "out")
    assert (code, "dss-sum, seed 0 was trained on" in text) == (2, True), text
    moved = (study / "runs" / moved.name).rename(study / RUN)
    set_data(moved, "photos")
    shutil.copy(photos / "0.png", photos / "more.png")  # the folder has grown since
    code, text = evaluate(study, "--data", photos, "--all", "--out", tmp_path / "out")
    assert (code, "dss-sum, seed 0 was trained on" in text) == (2, True), text
    code, text = evaluate(study, "--data", "leaves", "--all", "--out", tmp_path / "out")
    assert (code, "all is for data in files, got dead leaves" in text) == (2, True), text


def test_what_is_no_study_gets_a_sentence(study, photos, tmp_path):
    code, text = evaluate(tmp_path / "nowhere", "--data", "leaves")
    assert (code, "study.json must be the description of a study" in text) == (2, True), text
    code, text = evaluate(study, "--data", tmp_path / "nothing")
    assert (code, "data must be a folder that exists" in text) == (2, True), text
    code, text = evaluate(study, "--data", "leaves", "--out", photos)
    assert (code, "must be empty" in text) == (2, True), text
    code, text = evaluate(study, "--data", "leaves", "--out", study)
    assert (code, "another configuration" in text) == (2, True), text
    told = json.loads((study / "study.json").read_text())
    del told["sha256"]
    write_json(study / "study.json", {**told, "experiment": "os"})
    code, text = evaluate(study, "--data", "leaves")
    assert (code, "experiment must be one of" in text) == (2, True), text
    (study / "study.json").write_text(json.dumps({**told, "experiment": "signals"}))
    code, text = evaluate(study, "--data", "leaves")
    assert (code, "signals has no other data" in text) == (2, True), text
    for weights in study.glob("runs/*/model.safetensors"):
        weights.unlink()
    with pytest.raises(ValueError, match="study with trained networks"):
        trained_networks(study)


def test_networks_for_graphs_get_the_graph_of_the_other_data(tmp_path, monkeypatch):
    preset = shapes.PRESETS["smoke"]
    tiny = replace(preset, models=("dss-sum",), settings=("graphs",), train_sizes=(2,), epochs=(1,))
    monkeypatch.setitem(shapes.PRESETS, "smoke", replace(tiny, test_size=2, width=0.05))
    made = make_study(shapes.EXPERIMENT, RunOptions(out=tmp_path / "study", preset="smoke"))
    for group in made.groups:
        made.run_group(group, lambda epoch, value: None)
    (transfer,) = make_transfers(tmp_path / "study", made.experiment.default_data, tmp_path / "out")
    transfer.test(transfer.networks[0])
    before, after = (all_records(tmp_path / name)[0].value for name in ("study", "out"))
    assert after == before


def test_a_file_is_no_place_for_results(study, tmp_path):
    (tmp_path / "file").touch()
    code, text = evaluate(study, "--data", "leaves", "--out", tmp_path / "file")
    assert (code, "out must be a folder" in text) == (2, True), text


def test_the_networks_in_the_repository_know_colours(tmp_path):
    study = Path(__file__).parents[3] / "results" / "colors"
    (transfer,) = make_transfers(study, "embedded", tmp_path / "out", num_sets=4)
    for network in transfer.left():
        transfer.test(network)
    found = {r.model: r.value for r in all_records(tmp_path / "out")}
    assert found["dss-sum"] < 6 < 8 < found["siamese-ds"] < 25
