"""What is read, and what is compared with what."""

import json
import math
import re

import pytest

from symsets.experiments.report.comparison import Score
from symsets.experiments.report.load_records import load_records
from symsets.experiments.study.records import Record, write_records


def test_mean_and_std_are_over_seeds(signals):
    (comparison,) = load_records([signals]).comparisons
    score = comparison.score("dss-sum")
    assert score.mean == pytest.approx(0.97)
    assert score.std == pytest.approx(0.01)  # divided by n - 1
    assert comparison.score("siamese", size=300).std == pytest.approx(0.02)
    assert (score.count, score.failed) == (3, 0)
    assert score.seconds == pytest.approx(21.0)


def test_failed_runs_are_counted_and_in_no_mean(signals):
    study = load_records([signals])
    score = study.comparisons[0].score("sridhar")
    assert (score.count, score.failed) == (3, 1)
    assert score.mean == pytest.approx(0.35)
    assert score.std == pytest.approx(math.sqrt(2) / 200)
    assert (study.num_runs, study.num_failed) == (18, 1)


def test_one_run_has_no_std_and_none_has_no_mean():
    assert Score((0.5,)).std is None
    assert math.isnan(Score((), failed=3).mean)


def without_seal(path):
    """Return what an earlier version would have written."""
    return re.sub(r',\n "sha256": "\w{64}"', "", path.read_text())


def test_nan_and_null_both_mean_failed(tmp_path):
    record = Record(experiment="e", model="m", metric="accuracy", value=0.5)
    write_records(tmp_path / "results.json", [record])
    text = without_seal(tmp_path / "results.json")
    for value in ("NaN", "null", "Infinity"):
        (tmp_path / "results.json").write_text(text.replace("0.5", value))
        assert load_records([tmp_path]).num_failed == 1


def test_what_differs_in_data_or_recipe_is_not_compared(tmp_path):
    base = {"experiment": "e", "metric": "accuracy", "value": 0.5}
    records = [
        Record(model="a", data="x", **base),
        Record(model="b", data="y", **base),
        Record(model="c", data="x", recipe="published", **base),
        Record(model="d", data="x", preset="paper", **base),
        Record(model="e", data="x", **base),
    ]
    write_records(tmp_path / "results.json", records)
    models = [comparison.models for comparison in load_records([tmp_path]).comparisons]
    assert models == [["a", "e"], ["b"], ["c"], ["d"]]


def test_a_folder_given_twice_or_copied_counts_once(signals, tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "results.json").write_text((signals / "results.json").read_text())
    study = load_records([signals, signals, copy])
    assert study.comparisons[0].score("dss-sum").count == 3
    assert study.num_failed == 1


def test_a_baseline_without_training_stands_at_every_size(tmp_path):
    base = {"experiment": "e", "metric": "accuracy"}
    records = [
        Record(model="random", value=0.1, **base),
        Record(model="dss-sum", value=0.5, train_size=10, **base),
        Record(model="dss-sum", value=0.7, train_size=100, **base),
    ]
    write_records(tmp_path / "results.json", records)
    (comparison,) = load_records([tmp_path]).comparisons
    assert comparison.sizes == [10, 100]
    assert [comparison.score("random", size=n).mean for n in (10, 100)] == [0.1, 0.1]


def test_runs_belong_to_the_largest_size_and_broken_ones_are_left_out(signals):
    runs = signals / "runs"
    (runs / "empty").mkdir()
    (runs / "broken").mkdir()
    (runs / "broken" / "done.json").write_text("{")
    (comparison,) = load_records([signals]).comparisons
    found = comparison.runs_of("dss-sum")
    assert len(found) == 3
    assert found[1].curve[-1] == (4, pytest.approx(0.97))
    assert found[1].seconds_per_epoch == 2.5


def change_config(signals, **changes):
    path = signals / "runs" / "dss-sum-ours-3000-seed1" / "done.json"
    done = json.loads(path.read_text())
    del done["sha256"]
    path.write_text(json.dumps({**done, "config": done["config"] | changes}))


def test_seeds_trained_together_share_the_time(signals):
    change_config(signals, seeds_together=[0, 1])
    (comparison,) = load_records([signals]).comparisons
    assert comparison.runs_of("dss-sum")[1].seconds_per_epoch == 1.25


def test_epochs_between_validations_share_the_time(signals):
    change_config(signals, validate_every=2)
    (comparison,) = load_records([signals]).comparisons
    assert comparison.runs_of("dss-sum")[1].seconds_per_epoch == 1.25


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "must hold a results.json"),
        ("{", "must be a results file of schema 1"),
        ('{"schema": 2, "records": []}', "schema 2 is not 1"),
        (
            '{"schema": 1, "records": [{}]}',
            "of schema 1: 'value' is missing",
        ),
        ("[]", "must be a results file of schema 1"),
        ('{"schema": 1, "records": []}', "must hold at least one record"),
    ],
)
def test_a_broken_study_is_one_sentence(tmp_path, content, message):
    if content is not None:
        (tmp_path / "results.json").write_text(content)
    with pytest.raises(ValueError, match=message):
        load_records([tmp_path])


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("0.5", '"high"', "value must be a number, got 'high'"),
        ("0.5", "true", "value must be a number, got True"),
        ('"train_size": 128', '"train_size": "128"', "train_size must be an integer, got '128'"),
        ('"train_size": 128', '"train_size": null', "train_size must be an integer, got None"),
        ('"model": "m"', '"model": 3', "model must be text, got 3"),
    ],
)
def test_fields_of_another_type_are_named(tmp_path, old, new, problem):
    path = tmp_path / "results.json"
    record = Record(experiment="e", model="m", metric="accuracy", value=0.5, train_size=128)
    write_records(path, [record])
    for text, said in ((path.read_text(), "it was changed"), (without_seal(path), problem)):
        path.write_text(text.replace(old, new))
        with pytest.raises(ValueError, match=rf"results\.json must be a results file .*: {said}"):
            load_records([tmp_path])
        path.write_text(text)


def test_a_broken_search_is_one_sentence(signals):
    (signals / "search.json").write_text('{"dss-sum": 0.9}')
    with pytest.raises(ValueError, match="must be a map of names to numbers to numbers"):
        load_records([signals])


def test_no_folder_is_one_sentence():
    with pytest.raises(ValueError, match="directories must name at least one folder"):
        load_records([])


def test_one_run_repeated_in_another_folder_is_still_one(tmp_path):
    base = {"experiment": "e", "metric": "accuracy", "model": "mean-shape", "value": 0.355}
    for name, command in (("a", "symsets run e"), ("b", "symsets run e --seeds 3")):
        (tmp_path / name).mkdir()
        write_records(tmp_path / name / "results.json", [Record(command=command, **base)])
    assert (
        load_records([tmp_path / "a", tmp_path / "b"]).comparisons[0].score("mean-shape").count == 1
    )


@pytest.mark.parametrize("other", [{"value": 0.9}, {"epochs": 30}])
def test_two_results_of_one_run_are_refused(tmp_path, other):
    base = {"experiment": "e", "metric": "accuracy", "model": "dss-sum", "value": 0.5, "epochs": 3}
    for name, more in (("a", {}), ("b", other)):
        (tmp_path / name).mkdir()
        write_records(tmp_path / name / "results.json", [Record(**base | more)])
    with pytest.raises(ValueError, match=r"a and .*b have two results of one run: accuracy of dss"):
        load_records([tmp_path / "a", tmp_path / "b"])


def test_metrics_at_something_else_than_numbers_of_elements_are_no_series(tmp_path):
    base = {"experiment": "signals", "model": "dss-sum", "value": 0.5}
    names = ("accuracy", "accuracy@5", "accuracy@top-2")
    write_records(tmp_path / "results.json", [Record(metric=name, **base) for name in names])
    (comparison,) = load_records([tmp_path]).comparisons
    assert [m.name for m in comparison.metrics] == ["accuracy", "accuracy@top-2"]
    assert comparison.by_elements["dss-sum"][5].values == (0.5,)
    assert [*comparison.by_elements["dss-sum"]] == [5]


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"value": -1.0}, "accuracies must be in 0..1, got -1.0 of 'm'"),
        ({"value": 97.0}, "accuracies must be in 0..1, got 97.0 of 'm'"),
    ],
)
def test_numbers_that_cannot_be_are_refused_with_their_file(tmp_path, record, problem):
    base = {"experiment": "e", "model": "m", "metric": "accuracy", "value": 0.5}
    write_records(tmp_path / "results.json", [Record(**{**base, **record})])
    with pytest.raises(ValueError, match=rf"results\.json:? {problem}"):
        load_records([tmp_path])


@pytest.mark.parametrize("name", ["search.json", "skips-x.json"])
def test_keys_of_tables_are_numbers(signals, name):
    (signals / name).write_text('{"dss-sum": {"fast": 0.9}}')
    with pytest.raises(ValueError, match=rf"{name} must be a map of names to numbers .*'fast'"):
        load_records([signals])
