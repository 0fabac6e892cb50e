"""Figures show what there is, however little."""

import torch

from symsets.tools.figures import ShownSet, confusion, curves, scatter, sheet


def test_one_epoch_is_a_point_and_several_are_a_line():
    rows = [{"epoch": k, "train_loss": 1.0, "val_loss": 2.0, "val_accuracy": 0.5} for k in (1, 2)]
    for history, marker in ((rows[:1], "o"), (rows, "None")):
        for picture in curves({"dss-mean": history}, "accuracy"):
            [axis] = picture.figure.axes
            assert {line.get_marker() for line in axis.lines} == {marker}


def test_names_are_never_read_as_formulas():
    name = r"$\nope{$"
    pictures = [
        confusion(torch.eye(2), torch.arange(2), (name, "b" * 90)),
        scatter(torch.rand(3, 2), torch.rand(3, 2), (name, "b")),
        sheet([ShownSet(name, torch.rand(2, 3, 4, 4), [name])], "answers", ""),
    ]
    for picture in pictures:
        drawn = picture.svg()
        assert name in drawn
        assert "b" * 90 not in drawn
