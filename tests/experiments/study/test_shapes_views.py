"""The experiments on shapes and on views from the command line, as small as they can be."""

import json
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch
from small_studies import (
    assert_an_interruption_changes_no_number,
    assert_one_line,
    only_run,
    records,
    run,
)
from typer.testing import CliRunner

import symsets
from symsets.cli.options import RunOptions
from symsets.experiments.shapes import experiment as shapes
from symsets.experiments.shapes.sets import skip_study
from symsets.experiments.study.describe import make_study
from symsets.experiments.views import experiment as views
from symsets.experiments.views.rendering import GeneratedViews
from symsets.experiments.views.sets import Truth

runner = CliRunner()
EXPERIMENTS = {"shapes": shapes, "views": views}
SETTING = {"shapes": "points", "views": "cars"}
TRAIN, TEST = 4, 2
BY_VIEWS = [f"chamfer@{num}" for num in (1, 2, 3, 5, 8)]
METRICS = {
    "shapes": [("dss-sum", "accuracy"), ("mean-shape", "accuracy")],
    "views": [
        ("dss-sum", metric) for metric in ["chamfer", "f-score@0.01", "f-score@0.02", *BY_VIEWS]
    ],
}
BOX = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 3)], dtype=np.float64)
QUADS = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
FACES = np.array([t for a, b, c, d in QUADS for t in ((a, b, c), (a, c, d))])


@pytest.fixture(autouse=True)
def _tiny(monkeypatch):
    torch.set_num_threads(1)
    monkeypatch.delenv("SYMSETS_DATA", raising=False)
    for name, module in EXPERIMENTS.items():
        tiny = replace(
            module.PRESETS["smoke"],
            models=("dss-sum",),
            train_sizes=(TRAIN,),
            test_size=TEST,
            batch_size=2,
            width=0.05,
            settings=(SETTING[name],),
        )
        monkeypatch.setitem(module.PRESETS, "smoke", tiny)
    monkeypatch.setattr(views, "SIZE", 32)
    monkeypatch.setattr(views, "NUM_POINTS", 256)
    views._seen_from_many_sides.cache_clear()
    yield
    views._seen_from_many_sides.cache_clear()


def write_motions(path, *, faces=True, length=30):
    """Write a pack of boxes that grow and lean, a third of them for each split."""
    random = np.random.default_rng(0)
    time = np.linspace(0, 1, length)[:, None, None]
    bent = [time * random.normal(size=(1, 8, 3)) + BOX for _ in range(6)]
    more = {"faces": FACES} if faces else {}
    np.savez(
        path,
        verts=np.concatenate(bent),
        offsets=length * np.arange(7),
        split=np.array([0, 1, 2] * 2),
        subject=np.array([0, 1, 2] * 2),
        **more,
    )
    return path


def write_meshes(root):
    """Write boxes of different heights for each split."""
    for split in ("train", "val", "test"):
        (root / split).mkdir(parents=True)
        for i in range(TRAIN if split == "train" else TEST):
            box = BOX * [1, 1 + i, 1]
            lines = ["v {} {} {}".format(*v) for v in box]
            lines += ["f {} {} {} {}".format(*(k + 1 for k in quad)) for quad in QUADS]
            (root / split / f"{i}.obj").write_text("\n".join(lines))
    return root


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """What each experiment runs on."""
    root = tmp_path_factory.mktemp("data")
    return {
        "shapes": write_motions(root / "boxes.npz"),
        "points": write_motions(root / "points.npz", faces=False),
        "views": "embedded",
        "meshes": write_meshes(root / "meshes"),
    }


def examples_of(out):
    (path,) = (out / "examples").glob("*.npz")
    with np.load(path) as kept:
        return dict(kept)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_study_ends_with_records_a_network_and_a_page_with_examples(name, tmp_path, data):
    out = tmp_path / "study"
    result = run(name, out, data[name])
    assert result.exit_code == 0, result.output
    assert EXPERIMENTS[name].EXPERIMENT.story in result.output  # no line was broken
    found = records(out)
    assert sorted((r.model, r.metric) for r in found) == sorted(METRICS[name])
    assert {(r.experiment, r.setting) for r in found} == {(name, SETTING[name])}
    for record in found:
        with np.load(only_run(out, record.model) / "predictions.npz") as kept:
            assert kept[record.metric].shape == (TEST,)
            assert record.value == pytest.approx(kept[record.metric].mean(), rel=1e-5)
    assert_the_network_comes_back(name, out, data[name])
    (path,) = (out / "figures").glob("*-examples.png")
    assert path.name.startswith(f"{name}-{SETTING[name]}-")
    page = (out / "report.html").read_text("utf-8")
    assert "The first 2 test sets." in page
    assert "data:image/png;base64," in page


def assert_the_network_comes_back(name, out, source):
    """The kept network makes of the kept sets what was kept of its outputs."""
    experiment = EXPERIMENTS[name].EXPERIMENT
    options = RunOptions(out=out, preset="smoke", data=str(source), settings=SETTING[name])
    made = make_study(experiment, options)
    x, y = made.sets(SETTING[name], "test").part(0, TEST)
    kept = examples_of(out)
    assert kept["x"] == pytest.approx(x.numpy(), abs=2e-3)  # in half precision
    with torch.no_grad():
        found = symsets.load(only_run(out))(x)
    if name == "shapes":
        assert kept["target"].tolist() == y.tolist()
        assert kept["faces"].tolist() == FACES.tolist()
        with np.load(only_run(out) / "predictions.npz") as predictions:
            assert predictions["output"] == pytest.approx(found.numpy(), abs=1e-4)
        return
    assert kept["maps"] == pytest.approx(y.maps.numpy(), abs=2e-3)
    assert kept["points"] == pytest.approx(y.points.numpy(), abs=2e-3)
    with np.load(only_run(out) / "examples.npz") as outputs:
        assert outputs["output"] == pytest.approx(found.numpy(), rel=2e-3, abs=2e-3)
    known = {r.metric: r.value for r in records(out)}
    for metric in experiment.task.metrics:
        assert metric(found, y) == pytest.approx(known[metric.name], rel=1e-3, abs=1e-5)
    # Seen from many sides: the first three are those of training.
    assert known["chamfer@3"] == pytest.approx(known["chamfer"], rel=1e-4)
    assert len({known[name] for name in BY_VIEWS}) == len(BY_VIEWS)


def test_a_study_of_shapes_says_how_hard_its_data_are(tmp_path, data):
    result = run("shapes", tmp_path, data["shapes"], "--as", "points")
    assert result.exit_code == 0
    (path,) = tmp_path.glob("skips-*.json")
    found = json.loads(path.read_text())
    source = shapes.EXPERIMENT.open_source(data["shapes"], 0)
    for name, split in (("validation", "val"), ("test", "test")):
        expected = skip_study(source.motions(split), (1, 2, 3, 4))  # 30 frames allow no more
        assert found[name] == {str(skip): value for skip, value in expected.items()}
    page = (tmp_path / "report.md").read_text()
    assert "Mean shape by skip" in page
    assert "80.95" in page


@pytest.mark.usefixtures("no_report")
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_interrupted_study_ends_with_the_numbers_of_an_undisturbed_one(
    name, tmp_path, data, monkeypatch
):
    assert_an_interruption_changes_no_number(name, data[name], tmp_path, monkeypatch)


@pytest.mark.usefixtures("no_report")
def test_shapes_are_points_graphs_or_points_that_meet(tmp_path, data):
    out = tmp_path / "study"
    words = ["--settings", "points,graphs,full-points", "--epochs", "1"]
    result = run("shapes", out, data["shapes"], *words)
    assert result.exit_code == 0, result.output
    trained = {r.setting: r for r in records(out) if r.model == "dss-sum"}
    assert set(trained) == {"points", "graphs", "full-points"}
    sizes = {setting: record.parameters for setting, record in trained.items()}
    assert sizes["full-points"] > sizes["points"]  # an element map with a second matrix
    for setting in trained:
        (path,) = (out / "runs").glob(f"boxes_?????-{setting}-dss-sum-ours-{TRAIN}-seed0")
        assert symsets.load(path).arguments["kind"] == setting
    kept = {path.stem.partition("-")[2] for path in (out / "examples").iterdir()}
    assert kept == set(trained)
    baselines = {r.setting: r.value for r in records(out) if r.model == "mean-shape"}
    assert len(set(baselines.values())) == 1
    assert len(baselines) == 3


@pytest.mark.usefixtures("no_report")
def test_sequences_that_are_too_short_are_named_once(tmp_path, data):
    with np.load(data["shapes"]) as pack:
        content = dict(pack)
    content["offsets"] = np.array([0, 20, 60, 90, 120, 150, 180])
    np.savez(tmp_path / "some.npz", **content)
    result = run("shapes", tmp_path / "out", tmp_path / "some.npz", "--as", "points,graphs")
    assert result.exit_code == 0, result.output
    named = "of split 'train' of some: left out 1 sequence of fewer than 25 frames: 0"
    assert result.output.count(named) == result.output.count("left out") == 1


@pytest.mark.usefixtures("no_report")
def test_points_alone_have_no_faces_to_keep_and_make_no_graphs(tmp_path, data):
    out = tmp_path / "study"
    assert run("shapes", out, data["points"], "--epochs", "1").exit_code == 0
    assert set(examples_of(out)) == {"x", "target"}
    other = tmp_path / "other"
    result = run("shapes", other, data["points"], "--settings", "points,graphs")
    assert_one_line(result, "shapes of points have no faces", "--settings points runs without")
    assert not other.exists()  # nothing was trained on points before


@pytest.mark.usefixtures("no_report")
def test_views_have_the_categories_that_are_there(tmp_path):
    for part in ("train", "val"):
        (tmp_path / part / "03001627" / "a-chair").mkdir(parents=True)
    assert views.EXPERIMENT.settings_of(views.Objects(str(tmp_path), 0)) == ("chairs",)
    assert views.EXPERIMENT.settings_of(views.Objects("embedded", 0)) == (
        "cars",
        "airplanes",
        "chairs",
    )


@pytest.mark.usefixtures("no_report")
def test_views_of_meshes_have_no_categories(tmp_path, data):
    out = tmp_path / "study"
    result = run("views", out, data["meshes"], "--epochs", "1")
    assert result.exit_code == 0, result.output
    assert {(r.data, r.setting) for r in records(out)} == {("meshes", "")}
    assert {r.metric for r in records(out)} == {metric for _, metric in METRICS["views"]}
    kept = examples_of(out)
    assert kept["x"].shape == (TEST, 3, 3, 32, 32)
    # The boxes are centred in the unit cube and have a diagonal of 1.
    extent = kept["points"].astype(float).max(1) - kept["points"].astype(float).min(1)
    assert np.linalg.norm(extent, axis=1) == pytest.approx(np.ones(TEST), abs=0.05)
    wrong = run("views", tmp_path / "other", data["meshes"], "--settings", "cars")
    assert_one_line(wrong, "views has no settings on these data, got 'cars'")


def test_objects_with_few_views_are_measured_with_those(monkeypatch):
    source = views.Objects("embedded", 0)
    monkeypatch.setattr(GeneratedViews, "most_views", lambda self, split, num: 5)
    network = views.EXPERIMENT.make_network("dss-sum", "ours", 0.05, "cars", source)
    found = views.EXPERIMENT.measure_more(network, source, "cars", TEST, "cpu")
    assert list(found) == BY_VIEWS[:4]


def test_more_sets_than_meshes_are_refused_before_any_is_seen(tmp_path, data, monkeypatch):
    monkeypatch.delattr("symsets.experiments.views.meshes.render_mesh")
    out = tmp_path / "study"
    wrong = run("views", out, data["meshes"], "--preset", "quick")
    assert_one_line(wrong, "meshes has 4 meshes for training", "240", "--train-sizes 4 or less")
    (tmp_path / "published" / "val" / "03001627" / "a").mkdir(parents=True)
    for name in "abcdef":
        (tmp_path / "published" / "train" / "03001627" / name).mkdir(parents=True)
    wrong = run("views", out, tmp_path / "published", "--train-sizes", "9")
    assert_one_line(wrong, "published has 4 chairs for training", "--train-sizes 4 or less")
    assert not out.exists()


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("shapes", ["--settings", "meshes"], "settings must be some of ['points', 'graphs', "),
        ("views", ["--settings", "boats"], "settings must be some of ['cars', 'airplanes', "),
        ("shapes", ["--models", "mlp"], "models must be some of ['siamese', "),
        ("views", ["--models", "dss-su"], "models must be some of ['siamese', "),
        ("shapes", ["--recipe", "mine"], "recipe must be one of ['ours', 'published']"),
        ("views", ["--preset", "huge"], "preset must be one of ['smoke', 'quick', 'paper']"),
        ("views", ["--precision", "half"], "precision must be one of"),
    ],
)
def test_wrong_words_get_one_line_and_status_2(tmp_path, data, name, arguments, message):
    out = tmp_path / "study"
    assert_one_line(run(name, out, data[name], *arguments), message)
    assert not out.exists()


def test_data_that_cannot_be_used_get_one_line(tmp_path, data):
    out = tmp_path / "study"
    assert_one_line(run("shapes", out, tmp_path / "nowhere"), "data must be", "nowhere")
    assert_one_line(run("shapes", out, "dfaust"), "dfaust is missing", "SYMSETS_DATA")
    assert not out.exists()
    short = write_motions(tmp_path / "short.npz", length=20)
    assert_one_line(run("shapes", tmp_path / "a", short), "must have at least 25 frames")
    assert_one_line(run("views", out, tmp_path / "nowhere"), "data must be a folder")
    assert_one_line(run("views", out, "shapenetcoco"), "shapenetcoco is missing")
    (tmp_path / "nothing").mkdir()
    assert_one_line(run("views", out, tmp_path / "nothing"), "must hold files that end in")
    assert not out.exists()
    flat = write_meshes(tmp_path / "flat")
    (flat / "test" / "0.obj").write_text("v 1 1 1\nv 1 1 1\nv 1 1 1\nf 1 2 3\n")
    assert_one_line(run("views", tmp_path / "d", flat), "0.obj must have an area")


def test_errors_are_those_of_the_truth_that_is_asked_about():
    made = GeneratedViews("cars", size=16).views("test", 2, num_points=50)
    output = made.y.clone()
    output[:, :, 0] = 40 * output[:, :, 0] - 20
    metrics = [views.reconstruction_metric(name) for name in ("chamfer", "f-score@0.01")]
    right, wrong = (Truth(made.y, points) for points in (made.points, 1 + made.points))
    near, far = ([m.values(output, truth) for m in metrics] for truth in (right, wrong))
    assert bool((near[0] < far[0]).all())
    assert bool((far[1] == 0).all())
    assert [m.values(output, right).tolist() for m in metrics] == [v.tolist() for v in near]


def test_measuring_keeps_no_batch():
    made = GeneratedViews("cars", size=16).views("test", 1, num_points=50)
    chamfer = views.reconstruction_metric("chamfer")
    chamfer.values(output := made.y.clone(), Truth(output, made.points))
    kept = weakref.ref(output)
    del output
    assert kept() is None
