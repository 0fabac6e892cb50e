"""A folder becomes networks, a table and a page; whatever is wrong is said before training."""

import csv
import html
import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

import symsets
from symsets.data import SetFolder
from symsets.tools import predict_folder, train_folder
from symsets.train import predict

QUICK = {"workers": 0, "device": "cpu", "say": lambda line: None}


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_network_is_kept_that_beats_the_trivial_answer(vectors, tmp_path):
    lines = []
    options = QUICK | {"say": lines.append}
    trained = train_folder(vectors, tmp_path / "out", epochs=12, learning_rate=3e-3, **options)
    by_name = {one.name: one for one in trained.outcomes}
    assert list(by_name) == ["dss-mean", "siamese", "most frequent class"]
    assert by_name[trained.best].test.mean > 0.9 > by_name["most frequent class"].test.mean
    assert [row[0].text for row in trained.table.rows][:2] == ["DSS(mean)", "Siamese"]
    assert "the epoch with the lowest validation loss" in trained.table.caption
    assert "vectors" in lines[0]
    assert re.search(r"\d+ sets to train, \d+ to validate, \d+ to test", "\n".join(lines))

    net = symsets.load(tmp_path / "out")
    assert net.card.classes == ("high", "low")
    assert net.card.metrics["test_accuracy"] == by_name[trained.best].test.mean

    page = trained.page.read_text("utf-8")
    assert "most frequent class" in page
    assert "symsets predict" in page
    assert page.count("<svg") >= 3  # two kinds of curves and the confusions


def test_sets_that_fill_the_memory_are_read_from_the_folder_to_the_same_numbers(
    vectors, tmp_path, monkeypatch
):
    options = {"epochs": 2, "schemes": ["dss-mean"], **QUICK}
    read = train_folder(vectors, tmp_path / "read", **options)
    monkeypatch.setattr("symsets.tools.training.MEMORY", 0)
    streamed = train_folder(vectors, tmp_path / "streamed", **options)
    assert streamed.outcomes[0].test == read.outcomes[0].test
    networks = [symsets.load(tmp_path / name) for name in ("read", "streamed")]
    assert networks[0].card == networks[1].card


def test_the_same_call_repeats_nothing_and_ends_with_the_same_numbers(vectors, tmp_path):
    first = train_folder(vectors, tmp_path / "out", epochs=2, schemes=["dss-max"], **QUICK)
    second = train_folder(vectors, tmp_path / "out", epochs=2, schemes=["dss-max"], **QUICK)
    assert first.outcomes[0].test == second.outcomes[0].test
    assert first.outcomes[0].seconds == second.outcomes[0].seconds  # of the only training


def test_loaded_networks_predict_what_fitted_ones_do(vectors, tmp_path):
    trained = train_folder(vectors, tmp_path / "out", epochs=1, schemes=["dss-mean"], **QUICK)
    net, loaded = trained.outcomes[0].network, symsets.load(tmp_path / "out")
    sets = SetFolder(vectors, like=loaded.card)
    answers = [predict(which, sets, workers=0, device="cpu") for which in (net, loaded)]
    assert [a.probabilities for a in answers[0]] == [b.probabilities for b in answers[1]]


@pytest.mark.parametrize(
    ("layout", "task", "shown"),
    [
        ("photos", "select", "place of the right element"),
        ("shots", "merge", "The hardest sets"),
        ("numbers", "regress", "what the network says"),
    ],
)
def test_every_task_ends_in_a_page_and_predictions(layout, task, shown, request, tmp_path):
    folder, out = request.getfixturevalue(layout), tmp_path / "out"
    trained = train_folder(folder, out, epochs=1, schemes=["dss-mean"], **QUICK)
    assert trained.outcomes[0].network.card.task == task
    assert shown in trained.page.read_text("utf-8")

    found = predict_folder(out, folder, tmp_path / "answers.csv", device="cpu", workers=0)
    rows = read_csv(found.rows)
    sets = SetFolder(folder)
    if task == "select":
        assert list(rows[0]) == ["set", "file", "score", "chosen"]
        assert len(rows) == sum(sets.sizes)
        assert sum(int(row["chosen"]) for row in rows) == len(sets)
    else:
        assert len(rows) == len(sets)
    if task == "merge":
        files = sorted((tmp_path / "answers").glob("*.png"))
        assert [row["file"] for row in rows] == [str(file) for file in files]
    assert found.notes[0].startswith("The network was trained with ")
    assert found.page.read_text("utf-8").startswith("<!doctype html>")


def test_new_sets_need_no_labels_and_what_cannot_be_read_is_named(photos, tmp_path):
    train_folder(photos, tmp_path / "out", epochs=1, schemes=["siamese"], **QUICK)
    new = tmp_path / "new"
    shutil.copytree(photos / "set00", new / "a")
    shutil.copytree(photos / "set01", new / "b")
    (new / "a" / "broken.png").write_bytes(b"no picture")
    found = predict_folder(tmp_path / "out", new, tmp_path / "new.csv", device="cpu", workers=0)
    assert {row["set"] for row in read_csv(found.rows)} == {"a", "b"}
    assert len(read_csv(found.rows)) == 6
    assert found.notes == ()
    assert found.left_out == ((str(new / "a" / "broken.png"), "not readable"),)
    assert "broken.png: not readable" in found.page.read_text("utf-8")


def test_a_regression_is_written_in_the_units_of_the_labels(numbers, tmp_path):
    train_folder(numbers, tmp_path / "out", epochs=1, schemes=["dss-mean"], **QUICK)
    net = symsets.load(tmp_path / "out")
    found = predict_folder(tmp_path / "out", numbers, tmp_path / "n.csv", device="cpu", workers=0)
    sets = SetFolder(numbers, like=net.card)
    mean, std = (torch.tensor(net.card.target[name]) for name in ("mean", "std"))
    for row, (x, _) in zip(read_csv(found.rows), sets, strict=True):
        with torch.no_grad():
            wanted = net(x[None])[0] * std + mean
        assert float(row["label"]) == pytest.approx(wanted.item(), rel=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schemes": ["dss-men"]}, "scheme must be one of .*got 'dss-men'"),
        ({"schemes": ["siamese", "siamese"]}, "different schemes"),
        ({"schemes": []}, "at least one"),
        ({"device": "cuda:99"}, "device must be one of"),
        ({"task": "select"}, "labels for task 'select'"),
        ({"backbone": "large"}, "backbone must be 'small'"),
    ],
)
def test_what_is_wrong_is_said_before_training(vectors, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        train_folder(vectors, tmp_path / "out", **QUICK | options)
    assert not list(tmp_path.glob("out/*/last.ckpt"))


def test_sets_and_networks_need_folders_of_their_own(vectors):
    with pytest.raises(ValueError, match="out must be elsewhere than the sets"):
        train_folder(vectors, vectors, **QUICK)


def test_sets_without_labels_cannot_be_learnt_from(vectors, tmp_path):
    (vectors / "labels.csv").unlink()
    with pytest.raises(ValueError, match="must say what is right for each set"):
        train_folder(vectors, tmp_path / "out", **QUICK)


def test_predictions_need_a_card_and_a_table(vectors, tmp_path):
    with pytest.raises(ValueError, match=r"out must end in \.csv"):
        predict_folder(tmp_path, vectors, tmp_path / "answers.txt")
    symsets.save(symsets.Sequential(symsets.DSS(torch.nn.Linear(3, 2))), tmp_path / "plain")
    with pytest.raises(ValueError, match="must hold a network of symsets train, with a card"):
        predict_folder(tmp_path / "plain", vectors, tmp_path / "answers.csv")


def test_predictions_do_not_replace_labels_or_become_sets(vectors, tmp_path):
    train_folder(vectors, tmp_path / "out", epochs=1, schemes=["siamese"], **QUICK)
    table = tmp_path / "table.csv"
    table.write_text("set,x\na,1\nb,2\n")
    before = (vectors / "labels.csv").read_text()
    for sets, name in ((vectors, "labels.csv"), (vectors, "new/answers.csv"), (table, "")):
        with pytest.raises(ValueError, match="out must be elsewhere than the sets, got"):
            predict_folder(tmp_path / "out", sets, sets / name)
    assert (vectors / "labels.csv").read_text() == before
    assert table.read_text().startswith("set,x")


def test_a_class_that_is_only_tested_is_refused(vectors, tmp_path):
    path = vectors / "labels.csv"
    first, *lines = path.read_text().splitlines()
    splits = ["train", "train", "train", "train", "val", "test"]
    lines = [f"{line},{splits[k % 6]}" for k, line in enumerate(lines)]
    lines[5] = "set05,unheard,test"
    lines[11] = "set11,unheard,test"
    path.write_text("\n".join([f"{first},split", *lines]))
    with pytest.raises(ValueError, match=r"sets to train on .*'set05', of class 'unheard'"):
        train_folder(vectors, tmp_path / "out", **QUICK)


def test_networks_are_not_written_among_sets(vectors):
    with pytest.raises(ValueError, match="out must be elsewhere than the sets, got"):
        train_folder(vectors, vectors / "runs", **QUICK)
    assert not (vectors / "runs").exists()


def test_numbers_are_never_called_right_or_unsure(numbers, tmp_path):
    trained = train_folder(numbers, tmp_path / "out", epochs=1, schemes=["dss-mean"], **QUICK)
    page = trained.page.read_text("utf-8")
    assert "The hardest sets" in page
    assert "The worst first." in page
    assert "none is wrong" not in page


def test_paths_can_be_copied_from_the_page(vectors, tmp_path):
    out = tmp_path / "my network"
    trained = train_folder(vectors, out, epochs=1, schemes=["dss-mean"], **QUICK)
    page = html.unescape(trained.page.read_text("utf-8"))
    assert f"symsets predict '{out}' NEW_SETS" in page


def test_a_folder_that_is_prepared_in_another_way_is_refused(photos, tmp_path):
    train_folder(photos, tmp_path / "out", epochs=1, schemes=["siamese"], **QUICK)
    net = symsets.load(tmp_path / "out")
    own = [
        predict(net, sets, workers=0) for sets in (SetFolder(photos), SetFolder(photos, size=12))
    ]
    assert [answer.chosen for answer in own[0]] == [answer.chosen for answer in own[1]]
    (photos / "labels.csv").unlink()  # no task, so that the folder has no card
    assert len(predict(net, SetFolder(photos), workers=0)) == 24
    for options, got in (
        ({"size": 24}, r"size \[12, 12\], got \[24, 24\]"),
        ({"channels": 3}, "channels 1, got 3"),
        ({"resize": "scale"}, "resize 'crop', got 'scale'"),
    ):
        sets = SetFolder(photos, **options)
        for own in (sets, torch.utils.data.Subset(sets, [0, 1])):
            with pytest.raises(ValueError, match=rf"{got}: open the .*\(root, like=net.card\)"):
                predict(net, own)
    net.card = replace(net.card, element={"size": [40, 40]})  # by hand: like= could not help
    assert len(predict(net, SetFolder(photos), workers=0)) == 24


def test_two_classes_of_two_sets_are_too_few(tmp_path):
    for name in ("high/a", "high/b", "low/c", "low/d"):
        path = tmp_path / "sets" / f"{name}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, np.ones((2, 3), np.float32))
    problem = r"sets to train on of each class \(three in all, .* such as '(\w+)/\w', of class '\1'"
    with pytest.raises(ValueError, match=problem):
        train_folder(tmp_path / "sets", tmp_path / "out", **QUICK)
    np.save(tmp_path / "sets" / "high" / "e.npy", np.ones((2, 3), np.float32))
    np.save(tmp_path / "sets" / "low" / "f.npy", np.ones((2, 3), np.float32))
    train_folder(tmp_path / "sets", tmp_path / "out", epochs=1, schemes=["siamese"], **QUICK)


def test_vectors_far_from_unit_scale_are_learnt_as_well(vectors, tmp_path):
    for file in vectors.rglob("*.npy"):
        np.save(file, 1e-2 * np.load(file) + 300)
    options = {"epochs": 12, "learning_rate": 3e-3, "schemes": ["dss-mean"], **QUICK}
    trained = train_folder(vectors, tmp_path / "out", **options)
    assert trained.outcomes[0].test.mean > 0.9
    scale = symsets.load(tmp_path / "out").scale
    assert bool((scale.mean - 300).abs().max() < 1)
    assert bool((scale.std < 1).all())


def test_numbers_far_from_zero_are_measured_with_all_their_digits(numbers, tmp_path, monkeypatch):
    """Read into memory or when needed, a large number added to all changes no error."""
    options = {"epochs": 3, "schemes": ["dss-mean"], **QUICK}
    plain = train_folder(numbers, tmp_path / "plain", **options)
    head, *rows = csv.reader(numbers.read_text().splitlines())
    labels = {row[0]: float(row[-1]) + 2**30 for row in rows}
    with numbers.open("w", newline="") as file:
        csv.writer(file).writerows([head, *([*row[:-1], labels[row[0]]] for row in rows)])
    for memory in (2**29, 0):
        monkeypatch.setattr("symsets.tools.training.MEMORY", memory)
        moved = train_folder(numbers, tmp_path / f"far{memory}", **options)
        for one, other in zip(plain.outcomes, moved.outcomes, strict=True):
            assert one.test.mean == pytest.approx(other.test.mean, rel=1e-3)
    new = shutil.copy(numbers, tmp_path / "new.csv")
    out = tmp_path / "far.csv"
    found = predict_folder(tmp_path / "far0", new, out, device="cpu", workers=0)
    [note] = found.notes
    errors = [abs(float(row["label"]) - labels[row["set"]]) for row in read_csv(found.rows)]
    assert f"mae {np.mean(errors):.3f} " in note


def test_columns_that_float32_cannot_tell_apart_are_named(vectors, tmp_path):
    for path in vectors.glob("*.npy"):
        rows = np.load(path).astype(np.float64)
        np.save(path, np.column_stack([rows, 1.7e9 + 100 * rows[:, :1]]))
    lines = []
    options = QUICK | {"say": lines.append}
    train_folder(vectors, tmp_path / "out", epochs=1, schemes=["dss-mean"], **options)
    [line] = [line for line in lines if "single precision" in line]
    assert line.startswith(f"columns [{rows.shape[1] + 1}] hardly differ")


def test_networks_of_another_training_are_not_replaced(vectors, tmp_path):
    out = tmp_path / "out"
    train_folder(vectors, out, epochs=1, schemes=["dss-mean"], **QUICK)
    before = (out / "model.safetensors").read_bytes()
    with pytest.raises(ValueError, match=r"out must be another folder .*with networks of \["):
        train_folder(vectors, out, epochs=1, schemes=["dss-max"], **QUICK)
    assert (out / "model.safetensors").read_bytes() == before
    both = train_folder(vectors, out, epochs=1, schemes=["dss-mean", "dss-max"], **QUICK)
    assert len(both.outcomes) == 3


def test_sets_that_a_network_has_seen_do_not_tell_how_good_it_is(vectors, tmp_path):
    trained = train_folder(vectors, tmp_path / "out", epochs=4, schemes=["dss-mean"], **QUICK)
    options = {"device": "cpu", "workers": 0}
    found = predict_folder(tmp_path / "out", vectors, tmp_path / "a.csv", **options)
    parts = json.loads((tmp_path / "out" / "sets.json").read_text())
    assert len(read_csv(found.rows)) == 60
    score = trained.headline.split(" reaches ")[1].split(" %")[0]
    num = len(parts["train"]) + len(parts["val"])
    note = (
        f"The network was trained with {num} of these 60 sets. On the others: accuracy {score} %."
    )
    assert found.notes == (note,)
    shutil.copytree(vectors, tmp_path / "new")
    new = predict_folder(tmp_path / "out", tmp_path / "new", tmp_path / "b.csv", **options)
    assert new.notes[0].startswith("The folder has labels: accuracy ")
    rows = (vectors / "labels.csv").read_text().splitlines()
    for name in parts["test"]:
        (vectors / f"{name}.npy").unlink()
    kept = [row for row in rows if row.split(",")[0] not in parts["test"]]
    (vectors / "labels.csv").write_text("\n".join(kept))
    seen = predict_folder(tmp_path / "out", vectors, tmp_path / "c.csv", **options)
    assert seen.notes[0].startswith("The network was trained with all of these sets")
