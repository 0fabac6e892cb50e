"""Answers of networks in words, and which of them are worst."""

import pytest
import torch

from symsets import RaggedSets
from symsets.models import Card
from symsets.tools.answers import answers, worst
from symsets.train import Evaluation

NAMES = ("wet", "hot")
UNITS = {"mean": [10.0], "std": [2.0]}


def judged(task, outputs, targets, **more):
    card = Card(task, "vectors", **more)
    return answers(card, Evaluation(0.0, {}, outputs, targets))


def test_a_class_is_right_or_wrong_and_worse_the_less_likely_the_truth_was():
    outputs = torch.tensor([[2.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
    given = judged("classify", outputs, torch.tensor([0, 1, 1]), classes=NAMES)
    assert [(one.said, one.truth, one.right) for one in given] == [
        ("wet (88%)", "wet", True),
        ("wet (73%)", "hot", False),
        ("wet (95%)", "hot", False),
    ]
    assert worst(given, 3) == [2, 1]
    assert worst(given[:1], 3) == [0]  # the least sure, if nothing is wrong


def test_labels_are_right_if_all_of_them_are():
    outputs = torch.tensor([[2.0, -2.0], [2.0, 2.0], [-1.0, -1.0]])
    targets = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    given = judged("labels", outputs, targets, classes=NAMES)
    assert [(one.said, one.truth, one.right) for one in given] == [
        ("wet", "wet", True),
        ("wet, hot", "wet", False),
        ("none", "none", True),
    ]
    assert given[1].badness == pytest.approx(torch.tensor(2.0).sigmoid().item())


def test_numbers_come_in_the_units_of_the_targets_and_are_never_called_right():
    [one] = judged("regress", torch.tensor([[1.0]]), torch.tensor([[11.0]]), target=UNITS)
    assert (one.said, one.truth, one.right, one.badness) == ("12", "11", None, 1.0)


def test_the_chosen_element_is_marked_and_all_have_their_share():
    scores = RaggedSets(torch.tensor([0.0, 5.0, 1.0, 0.0, 0.0]), [2, 3])
    first, second = judged("select", scores, torch.tensor([1, 2]))
    assert (first.said, first.truth, first.right, first.chosen) == (
        "number 2", "number 2", True, (1,),
    )  # fmt: skip
    assert (second.right, second.chosen) == (False, (0,))
    assert second.scores == ("58%", "21%", "21%")


def test_scores_stand_beside_what_is_right_for_each_element():
    sizes = [2, 1]
    outputs = RaggedSets(torch.tensor([0.0, 1.0, -1.0]), sizes)
    targets = RaggedSets(torch.tensor([10.0, 11.0, 8.0]), sizes)
    first, second = judged("score", outputs, targets, target=UNITS)
    assert (first.scores, first.right, first.badness) == (("10 (10)", "12 (11)"), None, 0.5)
    assert (second.scores, second.badness) == (("8 (8)",), 0.0)
