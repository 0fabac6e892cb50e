"""The four experiments on images from the command line, on a handful of tiny pictures."""

import io
import json
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
    values,
)
from typer.testing import CliRunner

import symsets
from symsets.cli import app
from symsets.cli.options import RunOptions
from symsets.experiments.bursts import experiment as bursts
from symsets.experiments.colors import experiment as colors
from symsets.experiments.frames import experiment as frames
from symsets.experiments.quality import experiment as quality
from symsets.experiments.study.catalogue import image_source
from symsets.experiments.study.describe import make_study
from symsets.experiments.study.experiment import scaled
from symsets.experiments.study.images import pictures
from symsets.train.metrics import mean_absolute_error, psnr, ssim

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")

runner = CliRunner()
EXPERIMENTS = {"colors": colors, "quality": quality, "bursts": bursts, "frames": frames}
METRICS = {
    "colors": ["mae"],
    "quality": ["accuracy"],
    "bursts": ["mae", "psnr", "ssim"],
    "frames": ["accuracy", "top2-accuracy", "undirected-accuracy"],
}
BASELINES = {"colors": "grey", "bursts": "median", "frames": "farthest"}
TRAIN, TEST = 4, 2


@pytest.fixture(autouse=True)
def _tiny_presets(monkeypatch):
    monkeypatch.delenv("SYMSETS_DATA", raising=False)
    for module in EXPERIMENTS.values():
        tiny = replace(
            module.PRESETS["smoke"],
            models=("dss-sum",),
            train_sizes=(TRAIN,),
            test_size=TEST,
            batch_size=2,
            width=0.05,
        )
        monkeypatch.setitem(module.PRESETS, "smoke", tiny)


def picture(seed, size=64):
    pixels = np.random.default_rng(seed).integers(256, size=(size, size, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def write_pictures(root, *counts):
    """Write PNG files into the subfolders of splits."""
    seed = 0
    for split, num in zip(("train", "val", "test"), counts, strict=True):
        (root / split).mkdir(parents=True)
        for i in range(num):
            picture(seed := seed + 1).save(root / split / f"{i}.png")
    return root


def write_clips(path, lengths=(9, 10, 8, 11, 9, 8), **more):
    """Write a pack whose clips change from frame to frame, a third of them for each split."""
    encoded = []
    for i in range(sum(lengths)):
        file = io.BytesIO()
        picture(i).save(file, "PNG")
        encoded.append(file.getvalue())
    np.savez(
        path,
        data=np.frombuffer(b"".join(encoded), dtype=np.uint8),
        offsets=np.cumsum([0, *map(len, encoded)]),
        clip_start=np.cumsum([0, *lengths]),
        split=np.array([0, 1, 2] * (len(lengths) // 3)),
        **more,
    )
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """What each experiment runs on."""
    root = tmp_path_factory.mktemp("data")
    photos = write_pictures(root / "photos", 4, 3, 3)
    clips = write_clips(root / "clips.npz")
    return {name: clips if name == "frames" else photos for name in EXPERIMENTS}


@pytest.mark.usefixtures("no_report")
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_study_leaves_a_record_of_every_metric_and_a_network(name, tmp_path, data):
    out = tmp_path / "study"
    result = run(name, out, data[name])
    assert result.exit_code == 0, result.output
    written = records(out)
    models = ["dss-sum", *([BASELINES[name]] if name in BASELINES else [])]
    assert [(r.model, r.metric) for r in written] == [(m, k) for m in models for k in METRICS[name]]
    assert {r.experiment for r in written} == {name}
    assert {r.data for r in written} == {data[name].stem}
    assert written[0].train_size == TRAIN
    assert written[0].epochs == 2
    for record in written:
        with np.load(only_run(out, record.model) / "predictions.npz") as kept:
            assert kept[record.metric].shape == (TEST,)
            assert record.value == pytest.approx(kept[record.metric].mean(), rel=1e-5)
    path = only_run(out)
    curves = json.loads((path / "done.json").read_text())["curves"]
    last = {name: column[-1] for name, column in curves.items()}
    assert last["epoch"] == 2
    assert {f"val_{metric}" for metric in METRICS[name]} < set(last)
    assert_the_network_comes_back(name, out, path, data[name], last)


def test_frames_are_also_told_apart_by_source(tmp_path):
    names = ["a/0", "a/1", "a/2", "b/3", "b/4", "b/5"]  # the test has clips 2 and 5
    clips = write_clips(tmp_path / "clips.npz", name=np.array(names))
    out = tmp_path / "study"
    assert run("frames", out, clips).exit_code == 0
    written = records(out)
    found = {r.metric: r.value for r in written if r.model == "dss-sum"}
    assert set(found) == {*METRICS["frames"], "accuracy/a", "accuracy/b"}
    assert set(found) == {r.metric for r in written if r.model == "farthest"}
    with np.load(only_run(out) / "predictions.npz") as kept:
        right = kept["accuracy"]
    assert found["accuracy/a"] == pytest.approx(right[0::2].mean())
    assert found["accuracy/b"] == pytest.approx(right[1::2].mean())
    assert "frames, parts" in (out / "report.md").read_text()


def assert_the_network_comes_back(name, out, path, source, last):
    """The kept network makes of the kept sets what was kept of its outputs."""
    experiment = EXPERIMENTS[name].EXPERIMENT
    made = make_study(experiment, RunOptions(out=out, preset="smoke", data=str(source)))
    setting = "gaussian-30" if name == "quality" else ""
    test, val = made.sets(setting, "test"), made.sets(setting, "val")
    x, y = test.part(0, TEST)
    net = symsets.load(path)
    with torch.no_grad():
        found = net(x)
    assert not net.training
    (examples,) = (out / "examples").glob("*.npz")
    with np.load(examples) as kept:
        torch.testing.assert_close(torch.as_tensor(kept["x"]).float(), x, rtol=1e-3, atol=1e-3)
    if experiment.task.keep_outputs:
        with np.load(path / "predictions.npz") as kept:
            expected = torch.as_tensor(kept["output"])
            for key, value in experiment.targets_by_name(y).items():
                assert torch.equal(torch.as_tensor(kept[key]), value)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    else:
        with np.load(path / "examples.npz") as kept:
            expected = torch.as_tensor(kept["output"]).float()
        # kept in half precision
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
    for metric in experiment.task.metrics:
        kept_value = next(r for r in records(out) if r.metric == metric.name)
        assert metric(found, y) == pytest.approx(kept_value.value, rel=1e-3, abs=1e-4)
    x, y = val.part(0, TEST)
    with torch.no_grad():
        best = experiment.task.metric(net(x), y)
    assert best == pytest.approx(float(last[f"val_{experiment.task.metric.name}"]), rel=1e-4)
    fresh = made.network(setting, "dss-sum", 0).state_dict()
    assert not any(torch.equal(v, fresh[k]) for k, v in net.state_dict().items() if v.dim() == 4)


def test_a_study_ends_with_a_page(tmp_path, data):
    result = run("colors", tmp_path / "study", data["colors"])
    assert result.exit_code == 0, result.output
    assert "Each set holds six pictures" in result.output
    assert (tmp_path / "study" / "report.html").exists()


@pytest.mark.usefixtures("no_report")
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_interrupted_study_ends_with_the_numbers_of_an_undisturbed_one(
    name, tmp_path, data, monkeypatch
):
    assert_an_interruption_changes_no_number(name, data[name], tmp_path, monkeypatch)


@pytest.mark.usefixtures("no_report")
def test_finished_runs_and_baselines_are_not_repeated(tmp_path, data):
    out = tmp_path / "study"
    run("colors", out, data["colors"])
    before = values(out)
    paths = [only_run(out, model) / "done.json" for model in ("grey", "dss-sum")]
    stamps = [path.stat().st_mtime_ns for path in paths]
    result = run("colors", out, data["colors"], "--seeds", "2")
    assert result.exit_code == 0, result.output
    assert "1 run to go" in result.output
    assert [path.stat().st_mtime_ns for path in paths] == stamps
    after = values(out)
    assert {key: after[key] for key in before} == before
    assert sorted((model, seed) for _, _, model, seed, _ in after) == [
        ("dss-sum", 0),
        ("dss-sum", 1),
        ("grey", 0),
    ]
    different = [v for (_, _, model, _, _), v in after.items() if model == "dss-sum"]
    assert different[0] != different[1]
    assert "all runs are finished" in run("colors", out, data["colors"], "--seeds", "2").output


@pytest.mark.usefixtures("no_report")
def test_settings_are_kept_apart(tmp_path, data):
    out = tmp_path / "study"
    words = ["--epochs", "1", "--train-sizes", "2", "--settings", "gaussian-10,occlusion-50"]
    assert run("quality", out, data["quality"], *words).exit_code == 0
    assert {s for _, s, *_ in values(out)} == {"gaussian-10", "occlusion-50"}
    assert len(list((out / "examples").glob("*.npz"))) == 2


@pytest.mark.usefixtures("no_report")
def test_data_are_kept_apart(tmp_path, data):
    out = tmp_path / "study"
    for source in (data["colors"], "leaves"):
        assert run("colors", out, source, "--epochs", "1").exit_code == 0
    found = values(out)
    assert {(d, model) for d, _, model, *_ in found} == {
        (name, model) for name in ("photos", "dead leaves") for model in ("dss-sum", "grey")
    }
    assert len(set(found.values())) == 4
    assert len(list((out / "examples").glob("*.npz"))) == 2


@pytest.mark.usefixtures("no_report")
@pytest.mark.parametrize("precision", ["bfloat16", "float64"])
def test_other_precisions_train_too(tmp_path, data, precision):
    out = tmp_path / "study"
    result = run("colors", out, data["colors"], "--precision", precision, "--epochs", "1")
    assert result.exit_code == 0, result.output
    state = symsets.load(only_run(out)).state_dict()
    assert all(v.isfinite().all() for v in state.values())


@pytest.mark.usefixtures("no_report")
def test_a_run_without_a_single_finite_validation_is_a_failed_one(tmp_path, data):
    out = tmp_path / "study"
    # One step: its loss is finite, what it leaves is not.
    result = run(
        "colors", out, data["colors"], "--lr", "1e30", "--train-sizes", "2", "--epochs", "1"
    )
    assert result.exit_code == 0, result.output
    assert "dss-sum, seed 0: the loss became NaN" in result.output
    found = {r.model: r.value for r in records(out)}
    assert found["dss-sum"] != found["dss-sum"]
    assert found["grey"] > 0


@pytest.mark.usefixtures("no_report")
def test_arrays_are_written_whole_or_not_at_all(tmp_path, data, monkeypatch):
    out = tmp_path / "study"

    def torn(file, **arrays):
        with file if hasattr(file, "write") else open(file, "wb") as target:
            target.write(b"PK")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez_compressed", torn)
        assert run("colors", out, data["colors"], "--epochs", "1").exit_code == 130
    assert not list((out / "examples").iterdir())
    assert run("colors", out, data["colors"], "--epochs", "1").exit_code == 0
    (path,) = (out / "examples").iterdir()
    with np.load(path) as kept:
        assert kept["x"].shape == (TEST, 6, 3, 64, 64)


@pytest.mark.usefixtures("no_report")
def test_recipes_train_differently(tmp_path, data):
    out = tmp_path / "study"
    words = ["--recipe", "published", "--epochs", "1"]
    assert run("bursts", out, data["bursts"], *words).exit_code == 0
    config = json.loads((only_run(out) / "done.json").read_text())["config"]
    wanted = {"schedule": "staircase", "decay": 0.95, "learning_rate": 3e-3, "recipe": "published"}
    assert {key: config[key] for key in wanted} == wanted


@pytest.mark.parametrize("experiment", [bursts.EXPERIMENT, colors.EXPERIMENT])
def test_networks_of_today_have_as_many_parameters_whatever_the_scheme(experiment):
    for model in experiment.models:
        with torch.device("meta"):
            network = experiment.make_network(model, "modern", 1.0, "", None)
        total = sum(parameter.numel() for parameter in network.parameters())
        assert total == pytest.approx(5.2e6, rel=0.04), model


def test_the_data_decide_the_setting_of_colours(tmp_path):
    class Named:
        def __init__(self, name):
            self.name = name

    words = [
        colors.EXPERIMENT.settings_of(Named(name)) for name in ("Places-25", "celeba", "photos")
    ]
    assert words == [("places",), ("celeba",), ("",)]


def test_fractions_of_widths_are_multiples_of_eight():
    assert scaled([48, 100, 200], 0.25) == [16, 24, 48]
    assert scaled([50, 100], 0.01) == [8, 8]
    assert scaled([50, 100], 1) == [50, 100]


def test_bursts_are_measured_as_pictures_of_bytes_would_be():
    output, target = torch.rand(2, 3, 3, 16, 16, dtype=torch.float64) * 2 - 1
    found = {m.name: m.values(output, target) for m in bursts.EXPERIMENT.task.metrics}
    shown, scene = 127.5 * (output + 1), 127.5 * (target + 1)
    as_bytes = {"mae": mean_absolute_error(1.0), "psnr": psnr(255.0), "ssim": ssim(255.0)}
    for name, function in as_bytes.items():
        torch.testing.assert_close(found[name], function(shown, scene))


def test_gradients_of_pictures_count():
    target = torch.rand(2, 3, 5, 5, dtype=torch.float64)
    shifted = bursts.image_and_gradients(target + 0.25, target)
    assert shifted.item() == pytest.approx(0.25)
    noise = torch.randn_like(target)
    across, down = noise[..., 1:] - noise[..., :-1], noise[..., 1:, :] - noise[..., :-1, :]
    expected = noise.abs().mean() + across.abs().mean() + down.abs().mean()
    assert bursts.image_and_gradients(target + noise, target).item() == pytest.approx(
        expected.item()
    )


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("quality", ["--settings", "gaussian-20"], "settings must be some of ['gaussian-10', "),
        ("colors", ["--settings", "places"], "colors has no settings on these data"),
        ("frames", ["--settings", "fast"], "frames has no settings on these data"),
        ("bursts", ["--models", "mlp"], "models must be some of ['siamese', "),
        ("colors", ["--precision", "half"], "precision must be one of"),
        ("colors", ["--preset", "huge"], "preset must be one of ['smoke', 'quick', 'paper']"),
    ],
)
def test_wrong_words_get_one_line_and_status_2(tmp_path, data, name, arguments, message):
    out = tmp_path / "study"
    assert_one_line(run(name, out, data[name], *arguments), message)
    assert not out.exists()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_data_that_are_not_there_get_one_line(tmp_path, name, data):
    out = tmp_path / "study"
    known = "'ucf101'" if name == "frames" else "'places365'"
    assert_one_line(
        run(name, out, tmp_path / "nowhere"),
        "data must be a folder that exists, an .npz file",
        known,
    )
    assert_one_line(run(name, out, ""), "data must be a folder that exists", "got ''")
    published = "ucf101" if name == "frames" else "places365"
    assert_one_line(run(name, out, published), f"{published} is missing", "SYMSETS_DATA")
    (tmp_path / "empty").mkdir()
    assert_one_line(run(name, out, tmp_path / "empty"), "must hold files that end in one of")
    other = data["colors" if name == "frames" else "frames"]
    assert run(name, out, other).exit_code == 2
    assert not out.exists()


@pytest.mark.parametrize("name", ["colors", "quality", "bursts"])
def test_a_folder_with_too_few_pictures_gets_one_line(tmp_path, name):
    none = write_pictures(tmp_path / "none", 2, 0, 2)
    needed = 2 if name == "colors" else 1
    assert_one_line(
        run(name, tmp_path / "a", none),
        f"no usable images for split 'val', {needed} needed",
        "Subfolders called train, val and test choose the splits by hand",
    )
    assert not list((tmp_path / "a" / "runs").glob("*dss*"))


def test_pairs_of_pictures_need_two(tmp_path):
    few = write_pictures(tmp_path / "few", 2, 2, 1)
    (few / "test" / "torn.png").write_bytes(b"\x89PNG\r\n")
    assert_one_line(
        run("colors", tmp_path / "study", few),
        "few has 1 usable images for split 'test', 2 needed; files per split: {'train': 2, 'val': "
        "2, 'test': 2}; 1 skipped (1 not readable). Subfolders called train, val and test choose",
    )
    assert not list((tmp_path / "study" / "runs").glob("*dss*"))


@pytest.mark.usefixtures("no_report")
@pytest.mark.parametrize(("name", "num"), [("colors", 6), ("quality", 3), ("bursts", 3)])
def test_a_handful_of_pictures_is_enough(tmp_path, name, num):
    photos = tmp_path / "photos"
    photos.mkdir()
    for i in range(num):
        picture(i).save(photos / f"{i}.png")
    result = run(name, tmp_path / "study", photos, "--epochs", "1", "--train-sizes", "1")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("num", [1, 2])
def test_pairs_are_read_however_few_sets_are_asked_for(data, num):
    source = image_source(str(data["colors"]), size=32)
    assert len(pictures(source, "train", num, "cpu", least=2)) == 2
    assert len(pictures(source, "train", num, "cpu")) == num


def test_a_study_in_the_folder_of_its_data_is_not_taken_for_data(tmp_path, monkeypatch):
    photos = write_pictures(tmp_path / "photos", 2, 2, 2)
    monkeypatch.chdir(photos)
    words = ["run", "colors", "--preset", "smoke", "--epochs", "1", "--data", "."]
    first = runner.invoke(app, words)
    assert first.exit_code == 0, first.output
    assert list(photos.glob("runs/*/figures/*.png"))
    assert "all runs are finished" in runner.invoke(app, words).output


def test_broken_pictures_are_left_out(tmp_path, no_report):
    photos = write_pictures(tmp_path / "photos", 4, 3, 3)
    for split in ("train", "val", "test"):
        (photos / split / "torn.png").write_bytes(b"\x89PNG\r\n")
    result = run("colors", tmp_path / "study", photos, "--epochs", "1")
    assert result.exit_code == 0, result.output


def test_clips_that_are_too_short_get_one_line(tmp_path):
    short = write_clips(tmp_path / "short.npz", lengths=(7, 5, 6))
    assert_one_line(run("frames", tmp_path / "study", short), "short.npz")
