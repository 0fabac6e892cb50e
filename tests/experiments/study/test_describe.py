"""What users type, and what becomes of it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from symsets import load
from symsets.cli.options import RunOptions
from symsets.experiments.bursts import experiment as bursts
from symsets.experiments.colors import experiment as colors
from symsets.experiments.quality import experiment as quality
from symsets.experiments.shapes import experiment as shapes
from symsets.experiments.signals import experiment as signals
from symsets.experiments.study.describe import announcement, data_slug, make_study
from symsets.experiments.study.records import write_records
from symsets.experiments.study.runs import RunDirectory, claim_directory
from symsets.experiments.views import experiment as views
from symsets.models.restoring import RestoringNetwork


@dataclass
class Named:
    root: Path | None = None
    name: str = "my photos"


def test_data_of_one_name_but_other_contents_get_other_names(tmp_path):
    slugs = []
    for place, content in (("a", [1]), ("b", [2]), ("c", [1])):
        (tmp_path / place).mkdir()
        np.savez(tmp_path / place / "x.npz", images=np.array(content))
        slugs.append(data_slug("x", Named(tmp_path / place / "x.npz")))
    assert slugs[0] == slugs[2] != slugs[1]
    folder = tmp_path / "a"
    slugs = [data_slug(str(folder), Named(folder))]
    for name in ("more.png", "more.mp4", "more.ply", "more.hdf5"):
        (folder / name).write_text("new")
        slugs.append(data_slug(str(folder), Named(folder)))
    assert len(set(slugs)) == 5
    for other in ("notes.txt", ".hidden.png", "runs/mine/study.json", "runs/mine/figures/1.png"):
        (folder / other).parent.mkdir(parents=True, exist_ok=True)
        (folder / other).write_text("no data")
    (folder / "gone.png").symlink_to(folder / "nowhere.png")
    assert data_slug(str(folder), Named(folder)) == slugs[-1]
    assert data_slug("places365", Named(folder)) == "my_photos"  # known by its name


def write_pack(path, num):
    path.parent.mkdir(exist_ok=True)
    np.savez(
        path,
        data=np.zeros(num, dtype=np.uint8),
        offsets=np.arange(num + 1),
        split=np.arange(num) % 3,
        name=np.array([f"class/{i}.jpg" for i in range(num)]),
    )


def test_packs_are_told_apart_wherever_they_are_found(tmp_path, monkeypatch):
    slugs = []
    for place, num in (("a", 9), ("b", 12)):
        write_pack(tmp_path / place / "mine.npz", num)
        monkeypatch.setenv("SYMSETS_DATA", str(tmp_path / place))
        by_path = str(tmp_path / place / "mine.npz")
        for data in ("mine", by_path):
            slugs.append(data_slug(data, colors.EXPERIMENT.open_source(data, 0)))
    assert slugs[0] == slugs[1] != slugs[2] == slugs[3]


def test_other_data_of_the_same_name_need_a_study_of_their_own(tmp_path):
    for place, num in (("a", 9), ("b", 12)):
        write_pack(tmp_path / place / "mine.npz", num)

    def study(place, name="mine"):
        data = str(tmp_path / place / f"{name}.npz")
        options = RunOptions(out=tmp_path / "out", preset="smoke", data=data)
        return make_study(colors.EXPERIMENT, options)

    first = study("a")
    run = first.run(first.preset.settings[0], "dss-sum", first.preset.train_sizes[0], 0)
    run.path.mkdir(parents=True)
    study("a")
    with pytest.raises(ValueError, match=r"runs on other data that are called 'mine', too: choose"):
        study("b")
    write_pack(tmp_path / "b" / "mine2.npz", 12)
    study("b", "mine2")


@pytest.mark.parametrize("experiment", [colors, views])
def test_a_folder_called_embedded_is_not_the_embedded_data(experiment, tmp_path, monkeypatch):
    source = experiment.EXPERIMENT.open_source("embedded", 0)
    before = data_slug("embedded", source)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "embedded").write_text("not a pack")
    assert data_slug("embedded", source) == before


def test_recipe_published_takes_as_many_epochs_as_the_paper(tmp_path):
    for experiment, epochs in (
        (signals.EXPERIMENT, 200),
        (colors.EXPERIMENT, 50),
        (bursts.EXPERIMENT, 35),
    ):
        out = tmp_path / experiment.name
        study = make_study(experiment, RunOptions(out=out, preset="paper", recipe="published"))
        assert set(study.preset.epochs) == {epochs}
        plan = study.plan("", "dss-sum", epochs, 1e-3)
        assert plan.patience < epochs


def test_a_directory_in_which_nothing_came_about_is_free(tmp_path):
    out = tmp_path / "study"
    claim_directory(out, {"recipe": "ours"})
    claim_directory(out, {"recipe": "published"})
    assert "published" in (out / "study.json").read_text()
    (out / "runs").mkdir()
    with pytest.raises(ValueError, match="another configuration"):
        claim_directory(out, {"recipe": "ours"})


def test_a_directory_with_results_is_not_free(tmp_path):
    claim_directory(tmp_path, {"experiment": "orbits"})
    write_records(tmp_path / "results.json", [])
    with pytest.raises(ValueError, match=r"another configuration \(experiment: orbits → colors\)"):
        claim_directory(tmp_path, {"experiment": "colors"})


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", "Expecting property name"),
        (b"\xff", "'utf-8' codec can't decode byte 0xff"),
        (b"[]", r"it holds \[\]"),
    ],
)
def test_a_damaged_description_is_one_sentence(tmp_path, content, problem):
    (tmp_path / "study.json").write_bytes(content)
    expected = rf"study\.json must be the description of a study: {problem}"
    with pytest.raises(ValueError, match=expected):
        claim_directory(tmp_path, {"recipe": "ours"})


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\xff", "'utf-8' codec can't decode byte 0xff"),
        (b"[]", "it holds \\[\\]"),
        (b'{"records": [{}]}', "'value' is missing"),
        (b'{"records": []}', "it holds none; delete it"),
        (b"{}", "'records' is missing"),
        (b'{"records": [{"value": 1, "seed": "0"}]}', "missing 3 required"),
    ],
)
def test_a_damaged_mark_of_completion_is_one_sentence(tmp_path, content, problem):
    (tmp_path / "done.json").write_bytes(content)
    with pytest.raises(ValueError, match=rf"done\.json must be a list of records: .*{problem}"):
        RunDirectory(tmp_path).records()


def test_networks_of_graphs_after_aittala_train_on_eight_sets_as_published(tmp_path):
    for recipe, expected in (("published", 8), ("ours", 12)):
        options = RunOptions(out=tmp_path / recipe, preset="paper", recipe=recipe)
        study = make_study(shapes.EXPERIMENT, options)
        assert study.plan("graphs", "aittala", 1, 1e-3).batch_size == expected
        assert study.plan("graphs", "dss-sum", 1, 1e-3).batch_size == 12
        assert study.plan("points", "aittala", 1, 1e-3).batch_size == 16


def test_a_folder_of_sets_is_told_the_command_for_it(tmp_path):
    Image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    for k in range(40):
        path = tmp_path / "photos" / f"album {k % 2}" / f"day {k % 4}" / f"{k}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (80, 80), (k, 0, 0)).save(path)
    for data, told in ((tmp_path / "photos", True), (tmp_path / "photos" / "album 0", False)):
        options = RunOptions(preset="smoke", data=str(data), out=tmp_path / "out")
        said = announcement(make_study(quality.EXPERIMENT, options))
        assert (f"To learn from yours: symsets train {data}" in said) == told


def test_recipe_modern_has_a_network_of_its_own_whose_weights_are_kept(tmp_path):
    options = RunOptions(
        preset="smoke", recipe="modern", models="dss-mean", train_sizes="4", epochs=1, out=tmp_path
    )
    study = make_study(colors.EXPERIMENT, options)
    for group in study.groups:
        study.run_group(group)
    (folder,) = (tmp_path / "runs").glob("*dss-mean-modern*")
    assert isinstance(load(folder), RestoringNetwork)
    with pytest.raises(ValueError, match=r"recipe must be one of \['ours', 'published'\]"):
        make_study(shapes.EXPERIMENT, RunOptions(recipe="modern", out=tmp_path))
