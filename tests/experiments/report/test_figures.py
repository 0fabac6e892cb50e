"""Figures whose words can be read: nothing lies on top of them."""

import pytest

from symsets.experiments.report.figures import pictures
from symsets.experiments.report.load_records import load_records
from symsets.experiments.study.records import Record, write_records
from symsets.experiments.study.runs import RunDirectory


def drawn(folder, ending):
    (comparison,) = load_records([folder]).comparisons
    (picture,) = (p for p in pictures(comparison) if p.name.endswith(ending))
    picture.figure.draw_without_rendering()
    return picture.figure


def extents(texts):
    return [text.get_window_extent() for text in texts if text.get_text()]


@pytest.mark.parametrize("ending", ["accuracy-by-size", "curves"])
def test_no_curve_crosses_the_word_chance(signals, ending):
    (axis,) = drawn(signals, ending).axes
    words = axis.get_legend().get_texts()
    (word,) = (text for text in words if text.get_text() == "chance")
    assert word.get_window_extent().x0 > axis.get_window_extent().x1
    others = [text for text in words if text is not word]
    assert word.get_window_extent().count_overlaps(extents(others)) == 0


def test_bars_of_time_end_in_words_that_fit(signals):
    figure = drawn(signals, "time")
    (axis,) = figure.axes
    assert [text.get_text() for text in axis.texts] == ["2.5 s"] * 3
    assert all(box.x1 <= axis.get_window_extent().x1 for box in extents(axis.texts))
    first, *rest = extents(axis.get_xticklabels())
    for left, right in zip([first, *rest], rest, strict=False):
        assert left.x1 + 6 < right.x0  # pixels


def write_run(run, config, curves):
    run.mkdir(parents=True)
    RunDirectory(run).write(config, curves, {}, [])


def chamfers(*values):
    return [{"epoch": k, "val_loss": 1, "val_chamfer": v} for k, v in enumerate(values, 1)]


@pytest.mark.parametrize(("worst", "scale"), [(3.0, "linear"), (4000.0, "log")])
def test_an_error_that_explodes_does_not_hide_the_other_curves(tmp_path, worst, scale):
    run = tmp_path / "runs" / "siamese"
    config = {"experiment": "views", "model": "siamese", "setting": "cars", "recipe": "ours"}
    config |= {"preset": "quick", "data": "cars", "train_size": 8, "seed": 0}
    write_run(run, config, chamfers(worst, 2, 1))
    record = Record(metric="chamfer", value=1.0, **config)
    write_records(tmp_path / "results.json", [record])
    (axis,) = drawn(tmp_path, "curves").axes
    assert axis.get_yscale() == scale


@pytest.mark.parametrize(("worst", "scale"), [(9.0, "linear"), (80.0, "log")])
def test_one_seed_that_explodes_has_no_negative_errors(tmp_path, worst, scale):
    config = {"experiment": "views", "model": "siamese", "setting": "cars", "recipe": "ours"}
    config |= {"preset": "quick", "data": "cars", "train_size": 8}
    for seed, first in enumerate((1, 1, worst)):  # the mean alone would not be far from the others
        run = tmp_path / "runs" / f"siamese-{seed}"
        write_run(run, {**config, "seed": seed}, chamfers(first, 2, 1))
    records = [Record(metric="chamfer", value=1.0, seed=seed, **config) for seed in range(3)]
    write_records(tmp_path / "results.json", records)
    (axis,) = drawn(tmp_path, "curves").axes
    assert axis.get_yscale() == scale
    (band,) = axis.collections
    y = band.get_paths()[0].vertices[:, 1]
    mean = (2 + worst) / 3
    lowest = 0 if scale == "linear" else mean**2 / y.max()  # as far down as up
    assert y.min() == pytest.approx(min(lowest, 1))


def curves(folder, ends, accuracy):
    """Return the figure of curves of runs that ended after so many epochs."""
    config = {"experiment": "quality", "model": "dss-sum", "setting": "gaussian-30"}
    config |= {"preset": "quick", "data": "photographs", "train_size": 8, "recipe": "ours"}
    for seed, epochs in enumerate(ends):
        run = folder / "runs" / str(seed)
        rows = [
            {"epoch": k, "val_loss": 1, "val_accuracy": accuracy + k / 100} for k in range(epochs)
        ]
        write_run(run, {**config, "seed": seed}, rows)
    records = [Record(metric="accuracy", value=1.0, seed=seed, **config) for seed in range(2)]
    write_records(folder / "results.json", records)
    (comparison,) = load_records([folder]).comparisons
    (picture,) = (p for p in pictures(comparison) if p.name.endswith("curves"))
    return picture


@pytest.mark.parametrize(("accuracy", "near"), [(0.06, True), (0.6, False)])
def test_chance_far_below_does_not_press_curves_together(tmp_path, accuracy, near):
    picture = curves(tmp_path, (9, 9), accuracy)  # chance is 5 %
    (axis,) = picture.figure.axes
    assert ("chance" in [text.get_text() for text in axis.get_legend().get_texts()]) == near
    assert (axis.get_ylim()[0] < 5) == near
    assert ("chance, 5 %, is far below" in picture.caption) != near


@pytest.mark.parametrize(("ends", "told"), [((5, 5), False), ((5, 3), True)])
def test_only_runs_that_stopped_early_are_told_of(tmp_path, ends, told):
    assert ("stopped early" in curves(tmp_path, ends, 0.6).caption) == told


def test_times_are_said_to_be_longer_where_runs_shared_a_device(signals):
    (comparison,) = load_records([signals]).comparisons
    (picture,) = (p for p in pictures(comparison) if p.name.endswith("time"))
    assert "longer where runs shared a device" in picture.caption
