"""Example sets are shown as they are, with the answers that runs have left."""

import re
import shutil

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from symsets.cli import app
from symsets.experiments import report
from symsets.experiments.report._images import _same_target
from symsets.experiments.report.examples import examples, read_examples
from symsets.experiments.study.records import Record, write_records
from symsets.experiments.study.runs import RunDirectory
from symsets.experiments.views.distances import agreement
from symsets.experiments.views.evaluation import union_of_views
from symsets.pages.sheets import Sheet
from symsets.train.metrics import mean_absolute_error, psnr

SIDE, SETS = 8, 2
IMAGES = ["quality", "frames", "colors", "bursts"]
METRIC = dict(zip(IMAGES, ["accuracy", "accuracy", "mae", "mae"], strict=True))
METRIC |= {"shapes": "accuracy", "views": "chamfer"}
BASELINE = {"colors": "grey", "bursts": "median", "shapes": "mean-shape"}
TETRAHEDRON = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])
# From pixels in [0, 1] to what networks see, as docs and data sets say.
SEEN = {
    "quality": lambda p: (p - 0.5) / 0.25,
    "frames": lambda p: (p - 0.5) / 0.25,
    "colors": lambda p: p,
    "bursts": lambda p: 2 * p - 1,
    "shapes": lambda p: p,
    "views": lambda p: p,
}


def pixels(*shape, seed=0):
    return np.random.default_rng(seed).random(shape)


def sets_of(experiment, seed=0):
    """Return sets, as pixels if they are images, and targets."""
    if experiment == "shapes":
        corners = np.concatenate([np.zeros((3, 1)), np.eye(3)], axis=1)
        return corners + pixels(SETS, 7, 3, 1, seed=seed), np.array([3, 5])
    if experiment == "views":
        maps = pixels(SETS, 3, 7, SIDE, SIDE, seed=seed)
        maps[:, :, 0] = maps[:, :, 0] > 0.5
        return pixels(SETS, 3, 3, SIDE, SIDE, seed=seed), maps
    if experiment == "colors":
        photos = pixels(SETS, 2, 3, SIDE, SIDE, seed=seed)
        target = photos[:, [0, 1, 1, 0, 0, 1]]
        channel = np.eye(3)[[2, 0, 1, 0, 1, 2]]  # of each element
        return target * channel[None, :, :, None, None], target
    number = {"quality": 20, "frames": 8, "bursts": 5}[experiment]
    x = pixels(SETS, number, 3, SIDE, SIDE, seed=seed)
    return x, x.mean(1) if experiment == "bursts" else np.array([3, 5])


def write_run(folder, experiment, model, output, *, size=10, seed=0, setting="", **more):
    name = "-".join(filter(None, ["some_data", setting, model]))
    run = folder / "runs" / (f"{name}-ours-{size}-seed{seed}" if size else name)
    run.mkdir(parents=True)
    config = {"experiment": experiment, "model": model, "recipe": "ours", "setting": setting}
    config |= {"data": "some data", "preset": "smoke", "train_size": size, "seed": seed}
    RunDirectory(run).write(config, [], {}, [])
    (run / "predictions.npz").unlink()
    if output is not None:
        file = "predictions.npz" if METRIC[experiment] == "accuracy" else "examples.npz"
        np.savez(run / file, output=output, **more)
    return Record(metric=METRIC[experiment], value=0.5, **config)


def write_study(folder, experiment, *, setting=""):
    """Write a study in which dss-sum is right and siamese-ds is not; return its pixels."""
    x, target = sets_of(experiment)
    (folder / "examples").mkdir(parents=True)
    name = "-".join(filter(None, ["some_data", setting]))
    selects = METRIC[experiment] == "accuracy"
    kept = target if selects else SEEN[experiment](target).astype("f2")
    arrays = {"x": SEEN[experiment](x).astype("f2"), "target": kept}
    if experiment == "shapes":
        arrays["faces"] = TETRAHEDRON
    if experiment == "views":
        arrays["maps"] = arrays.pop("target")
        arrays["points"] = pixels(SETS, 50, 3).astype("f2")
    np.savez(folder / "examples" / f"{name}.npz", **arrays)
    if selects:
        scores = np.zeros((SETS + 3, x.shape[1]), "f4")  # of all test sets
        scores[[0, 1], target] = 2.0
        idea = -scores
        more = {"target": np.array([*target, 0, 0, 0])}
        outputs = {"dss-sum": scores, "siamese-ds": -scores}
    else:
        idea, more = kept, {}
        outputs = {"dss-sum": kept, "siamese-ds": (kept * 0.5).astype("f2")}
    records = [
        write_run(folder, experiment, model, output, setting=setting, **more)
        for model, output in outputs.items()
    ]
    if experiment in BASELINE:
        baseline = BASELINE[experiment]
        records.append(
            write_run(folder, experiment, baseline, idea, size=0, setting=setting, **more)
        )
    write_records(folder / "results.json", records)
    return x, target


def comparison_of(folder):
    (comparison,) = report.load_records([folder]).comparisons
    return comparison


def drawn(folder):
    return examples(comparison_of(folder))


def texts(picture):
    return [text.get_text() for text in picture.figure.axes[0].texts]


def change(path, **arrays):
    """Change some arrays of a file; those that are nothing go."""
    with np.load(path) as kept:
        content = {**kept, **arrays}
    np.savez(path, **{name: array for name, array in content.items() if array is not None})


def shown(picture):
    return [np.asarray(image.get_array()) for image in picture.figure.axes[0].images]


@pytest.mark.parametrize("experiment", IMAGES)
def test_pixels_are_those_that_the_set_was_made_of(experiment, tmp_path):
    x, target = write_study(tmp_path, experiment)
    sets = read_examples(comparison_of(tmp_path))
    assert sets.x.numpy() == pytest.approx(x, abs=2e-3)  # kept in half precision
    assert sets.target.numpy() == pytest.approx(target, abs=2e-3)
    assert list(sets.answers)[:2] == ["dss-sum", "siamese-ds"]
    first = shown(drawn(tmp_path))[0] / 255
    assert first == pytest.approx(x[0, 0].transpose(1, 2, 0), abs=4e-3)


def test_values_outside_are_clipped_and_never_wrap_around():
    sheet = Sheet()
    picture = torch.tensor([-0.3, 0.0, 0.5, 1.0, 1.7, 9.0]).expand(3, 1, 6)
    sheet.picture(picture, 0, 0, 1)
    (image,) = sheet.axis.images
    assert np.asarray(image.get_array())[0, :, 0].tolist() == [0, 0, 128, 255, 255, 255]


@pytest.mark.parametrize("experiment", ["quality", "frames"])
def test_choices_are_bold_and_marked(experiment, tmp_path):
    x, _ = write_study(tmp_path, experiment, setting="gaussian-30")
    picture = drawn(tmp_path)
    assert len(shown(picture)) == SETS * x.shape[1]
    written = texts(picture)
    number = x.shape[1]
    share = 100 * np.exp(2) / (np.exp(2) + number - 1)
    assert written.count(f"{share:.0f} ✓") == SETS  # dss-sum finds all, siamese-ds none
    assert sum(text.endswith("✗") for text in written) == SETS
    assert sum("." in text for text in written if text[:1].isdigit()) > 0
    marked = [t for t in picture.figure.axes[0].texts if t.get_text()[-1] in "✓✗"]
    assert all(text.get_weight() == "bold" for text in marked)
    assert "Right here: DSS(sum) 2 of 2, Siamese+DS 0 of 2." in picture.caption
    assert "DSS(sum) 2 of 2" in picture.description
    thick = [patch for patch in picture.figure.axes[0].patches if patch.get_linewidth() == 2]
    assert len(thick) == SETS  # one target in every set


def test_the_frame_is_around_the_target(tmp_path):
    write_study(tmp_path, "frames")
    axis = drawn(tmp_path).figure.axes[0]
    frames = [patch for patch in axis.patches if patch.get_linewidth() == 2]
    for frame, row, target in zip(frames, (0, 1), (3, 5), strict=True):
        left, right, bottom, top = axis.images[8 * row + target].get_extent()
        (x0, y0), (x1, y1) = frame.get_bbox().get_points()
        assert x0 < left < right < x1
        assert y0 < top < bottom < y1


def test_colours_come_with_the_error_of_the_framed_element(tmp_path):
    _, target = write_study(tmp_path, "colors")
    picture = drawn(tmp_path)
    # Each of two photographs: three elements, the target and three answers.
    pictures = shown(picture)
    assert len(pictures) == SETS * 2 * (3 + 1 + 3)
    second = target[0, 1].transpose(1, 2, 0)
    assert pictures[7 + 3] / 255 == pytest.approx(second, abs=4e-3)
    assert pictures[7 + 5] / 255 == pytest.approx(second / 2, abs=4e-3)
    halves = [127.5 * target[s, k].mean() for s in range(SETS) for k in (0, 1)]
    errors = [float(t.removeprefix("MAE ")) for t in texts(picture) if t.startswith("MAE")]
    assert errors[1::3] == pytest.approx(halves, abs=0.1)
    assert errors[0::3] == errors[2::3] == [0.0] * 4
    assert f"Siamese+DS {np.mean(halves):.1f}" in picture.description
    assert "grey image" in texts(picture)


def test_bursts_come_with_the_errors_of_the_tables(tmp_path):
    _, target = write_study(tmp_path, "bursts")
    picture = drawn(tmp_path)
    assert len(shown(picture)) == SETS * (5 + 1 + 3)
    truth = torch.tensor(2 * target - 1)
    mae = mean_absolute_error(127.5)(truth / 2, truth)
    ratio = psnr(2.0)(truth / 2, truth)
    wanted = [f"MAE {a:.1f}, {b:.1f} dB" for a, b in zip(mae, ratio, strict=True)]
    assert [text for text in texts(picture) if text in wanted] == wanted
    assert "median of the set" in texts(picture)


def test_shapes_have_their_faces_and_the_picks_of_all_models(tmp_path):
    x, target = write_study(tmp_path, "shapes", setting="points")
    sets = read_examples(comparison_of(tmp_path))
    assert sets.x.numpy() == pytest.approx(x, abs=2e-3)
    assert sets.target.tolist() == target.tolist()
    assert sets.more["faces"].tolist() == TETRAHEDRON.tolist()
    picture = drawn(tmp_path)
    names = ["DSS(sum)", "Siamese+DS", "mean shape"]
    assert [text for text in texts(picture) if text in names] == names * SETS
    marks = [text for text in texts(picture) if text[2:] in ("✓", "✗")]
    assert marks == ["4 ✓", "1 ✗", "1 ✗", "6 ✓", "1 ✗", "1 ✗"]
    assert "Right here: DSS(sum) 2 of 2, Siamese+DS 0 of 2, mean shape 0 of 2." in picture.caption
    assert picture.caption.startswith("The first 2 test sets. To be found is the frame in the ")
    # seven shapes, the central one, and three picks, two of them before a shadow
    drawn_shapes = picture.figure.axes[0].collections
    assert len(drawn_shapes) == SETS * (7 + 1 + 3 + 2)
    assert {len(shape.get_paths()) for shape in drawn_shapes} == {len(TETRAHEDRON)}


def test_shapes_without_faces_are_points(tmp_path):
    write_study(tmp_path, "shapes")
    change(tmp_path / "examples" / "some_data.npz", faces=None)
    shapes = drawn(tmp_path).figure.axes[0].collections
    assert {len(shape.get_offsets()) for shape in shapes} == {4}
    assert len(shapes) == SETS * (7 + 1 + 3 + 2)


def test_views_come_with_maps_and_clouds_of_all_models(tmp_path):
    x, maps = write_study(tmp_path, "views", setting="cars")
    picture = drawn(tmp_path)
    images = shown(picture)
    rows = 1 + 2  # truth and models
    assert len(images) == SETS * (3 + rows * 6)
    assert images[0] / 255 == pytest.approx(x[0, 0].transpose(1, 2, 0), abs=4e-3)
    second = images[3 + rows * 6 + 3 :]  # maps of the second object
    assert second[0][..., 3] / 255 == pytest.approx(maps[1, 0, 0])
    inside = maps[1, 0, 0] > 0
    for k, size in ((0, 1), (6, 1), (12, 0.5)):  # the truth, DSS(sum), Siamese+DS
        wanted = size * maps[1, 0, 1:4].transpose(1, 2, 0)[inside]
        assert second[k][inside][:, :3] / 255 == pytest.approx(wanted, abs=4e-3)
    assert len(picture.figure.axes[0].collections) == SETS * rows * 2
    assert picture.caption.startswith("The first 2 test sets. Input views; ")
    points, cloud = torch.tensor(pixels(SETS, 50, 3)), torch.tensor(maps).float()
    errors = [
        100 * agreement(found, true.float()).chamfer
        for found, true in zip(union_of_views(cloud), points, strict=True)
    ]
    written = [float(t.removeprefix("Chamfer ")) for t in texts(picture) if t.startswith("Chamf")]
    assert written[::2] == pytest.approx(errors, abs=2e-3)  # kept in half precision


def test_of_many_objects_two_are_shown(tmp_path):
    x, maps = write_study(tmp_path, "views")
    before = shown(drawn(tmp_path))
    points = pixels(2 * SETS, 50, 3)
    twice = {"x": np.tile(x, (2, 1, 1, 1, 1)), "maps": np.tile(maps, (2, 1, 1, 1, 1))}
    change(tmp_path / "examples" / "some_data.npz", **twice, points=points)
    for path in (tmp_path / "runs").glob("*/examples.npz"):
        with np.load(path) as kept:
            output = np.tile(kept["output"], (2, 1, 1, 1, 1))
        np.savez(path, output=output)
    after = shown(drawn(tmp_path))
    assert len(after) == len(before)
    assert all(a == pytest.approx(b, abs=1) for a, b in zip(after, before, strict=True))


@pytest.mark.parametrize("missing", ["x", "maps", "points"])
def test_views_need_all_their_arrays(missing, tmp_path):
    write_study(tmp_path, "views")
    change(tmp_path / "examples" / "some_data.npz", **{missing: None})
    assert drawn(tmp_path) is None
    assert report.write([tmp_path]).figures == ()


def test_elements_of_one_photograph_are_found():
    target = torch.tensor([5, 7, 7, 5, 7, 5]).reshape(6, 1, 1, 1)
    assert _same_target(target) == [[0, 3, 5], [1, 2, 4]]


def test_the_first_seed_at_the_largest_size_answers(tmp_path):
    _, target = write_study(tmp_path, "bursts")
    wrong = np.ones_like(target)
    for seed, size in ((1, 10), (0, 5), (0, 3)):
        write_run(tmp_path, "bursts", "dss-sum", wrong, seed=seed, size=size)
    sets = read_examples(comparison_of(tmp_path))
    assert sets.answers["dss-sum"].seed == 0
    assert sets.answers["dss-sum"].output.numpy() == pytest.approx(target, abs=2e-3)


def test_another_seed_is_named_where_the_first_left_nothing(tmp_path):
    _, target = write_study(tmp_path, "bursts")
    shutil.rmtree(tmp_path / "runs" / "some_data-dss-sum-ours-10-seed0")
    write_run(tmp_path, "bursts", "dss-sum", None, seed=0)
    write_run(tmp_path, "bursts", "dss-sum", 2 * target - 1, seed=1)
    assert "DSS(sum), seed 1" in texts(drawn(tmp_path))


def test_answers_of_two_folders_stand_together_if_the_sets_are_the_same(tmp_path):
    write_study(tmp_path / "a", "bursts")
    write_study(tmp_path / "b", "bursts")
    for folder, model in (("a", "siamese-ds"), ("b", "dss-sum")):
        shutil.rmtree(tmp_path / folder / "runs" / f"some_data-{model}-ours-10-seed0")
    folders = [tmp_path / "a", tmp_path / "b"]
    (comparison,) = report.load_records(folders).comparisons
    assert list(read_examples(comparison).answers) == ["dss-sum", "siamese-ds", "median"]
    x, target = (SEEN["bursts"](part) for part in sets_of("bursts", seed=1))
    np.savez(tmp_path / "b" / "examples" / "some_data.npz", x=x, target=target)
    assert list(read_examples(comparison).answers) == ["dss-sum", "median"]


def test_a_study_without_examples_has_a_page_without_them(tmp_path):
    write_study(tmp_path, "colors")
    shutil.rmtree(tmp_path / "examples")
    assert drawn(tmp_path) is None
    assert report.write([tmp_path]).figures == ()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"not an archive"])
def test_broken_files_are_as_good_as_none(content, tmp_path):
    write_study(tmp_path, "colors")
    (tmp_path / "runs" / "some_data-dss-sum-ours-10-seed0" / "examples.npz").write_bytes(content)
    assert list(read_examples(comparison_of(tmp_path)).answers) == [
        "siamese-ds",
        "grey",
    ]
    (tmp_path / "examples" / "some_data.npz").write_bytes(content)
    assert drawn(tmp_path) is None


@pytest.mark.parametrize(
    "other",
    [
        {"target": np.array([3, 4, 0])},  # of other sets
        {"output": np.zeros((5, 7), "f4")},
        {"output": np.full((5, 8), np.nan, "f4")},
    ],
)
def test_scores_of_other_sets_are_left_out(other, tmp_path):
    write_study(tmp_path, "frames")
    change(tmp_path / "runs" / "some_data-dss-sum-ours-10-seed0" / "predictions.npz", **other)
    assert list(read_examples(comparison_of(tmp_path)).answers) == ["siamese-ds"]


@pytest.mark.parametrize("experiment", METRIC)
def test_the_page_holds_the_pictures_and_needs_nothing_else(experiment, tmp_path):
    write_study(tmp_path, experiment)
    written = report.write([tmp_path])
    (path,) = written.figures
    assert path.name == f"{experiment}-some-data-ours-smoke-examples.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    text = written.html.read_text("utf-8")
    picture = drawn(tmp_path)
    # What is drawn as pixels, such as a cloud, is a picture too.
    drawn_as_pixels = experiment not in IMAGES
    assert (text.count("data:image/png;base64,") > len(shown(picture))) == drawn_as_pixels
    assert text.count("data:image/png;base64,") >= len(shown(picture))
    assert len(text) < 1_000_000
    links = re.findall(r'(?:xlink:)?href="([^"]{0,10})', text)
    assert all(link.startswith(("#", "data:image")) for link in links)
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]*)"', text)) <= set(ids)
    assert f'aria-label="{picture.description}"' in text
    assert '<figure class="wide">' in text
    assert f"![{picture.description}](figures/{path.name})" in written.markdown.read_text("utf-8")


def test_pages_to_be_passed_on_can_do_without(tmp_path):
    write_study(tmp_path, "colors")
    result = CliRunner().invoke(app, ["report", str(tmp_path), "--no-examples"])
    assert result.exit_code == 0, result.output
    assert "data:image" not in (tmp_path / "report.html").read_text("utf-8")
    assert not (tmp_path / "figures").exists()


def test_lines_far_from_zero_are_drawn_without_complaint(tmp_path):
    write_study(tmp_path, "colors")
    for run in (tmp_path / "runs").glob("*seed0"):
        directory = RunDirectory(run)
        with directory.reading_config() as config:
            curves = [{"epoch": 2, "train_loss": 1.0, "val_mae": 80.0, "seconds": 1.5}]
            directory.write(config, curves, {}, [])
    picture = report.figures.pictures(comparison_of(tmp_path))[0]
    assert picture.caption.startswith("Validation MAE along training")
    picture.save_png(tmp_path)  # warnings are errors here
    (axis,) = picture.figure.axes
    low, high = axis.get_xlim()
    assert [tick for tick in axis.get_xticks() if low <= tick <= high] == [2]
    picture.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axis.get_legend().get_texts()]
    assert all(0 <= box.y0 < box.y1 <= picture.figure.bbox.y1 for box in boxes)
