"""Cards hold what a network is for, and go through JSON."""

import copy
import json

import pytest

from symsets.models import Card

CARD = Card(
    "regress",
    "signals",
    classes=("weight", "height"),
    element={"length": 32, "size": [4, 4]},
    metrics={"mae": 0.25},
    target={"mean": [1.0, 2.0], "std": [0.5, 0.25]},
)


def test_a_card_comes_back_from_json():
    assert Card.from_dict(json.loads(json.dumps(CARD.to_dict()))) == CARD
    assert copy.deepcopy(CARD) == CARD


def test_what_was_given_is_copied():
    element = {"size": [4, 4]}
    card = Card("select", "pictures", element=element)
    element["size"].append(3)
    assert card.element == {"size": [4, 4]}


def test_lists_and_tuples_of_names_make_one_card():
    assert Card("labels", "vectors", classes=["a", "b"]).classes == ("a", "b")


@pytest.mark.parametrize(
    ("given", "kind", "problem"),
    [
        ({"task": "sort"}, ValueError, r"task must be one of \['classify', .* got 'sort'"),
        ({"kind": "images"}, ValueError, r"kind must be one of \['pictures', .* got 'images'"),
        ({"classes": "ab"}, TypeError, "classes must be a tuple of names, got 'ab'"),
        ({"classes": (1,)}, TypeError, "classes must be a tuple of names"),
        ({"element": {"x": object()}}, TypeError, "element must be what JSON can hold"),
        ({"element": []}, TypeError, "element must be a dictionary, got list"),
        ({"metrics": {"a": float("nan")}}, ValueError, "metrics must be what JSON can hold"),
        ({"metrics": {"a": "high"}}, TypeError, "metric 'a' must be a number, got 'high'"),
        ({"target": {"mean": [1.0]}}, ValueError, "target must hold lists mean and std"),
        ({"target": {"mean": [1.0], "std": [0.0]}}, ValueError, "std must be positive"),
        ({"target": {"mean": ["a"], "std": [1.0]}}, TypeError, "mean must be a number"),
    ],
)
def test_a_wrong_card_is_refused(given, kind, problem):
    with pytest.raises(kind, match=problem):
        Card(**{"task": "classify", "kind": "vectors", **given})


def test_a_card_from_a_file_has_its_own_entries_and_no_others():
    with pytest.raises(ValueError, match="each entry of a card must be one of"):
        Card.from_dict({**CARD.to_dict(), "__class__": "os.system"})
    with pytest.raises(ValueError, match="content must have an entry 'kind'"):
        Card.from_dict({"task": "classify"})
    with pytest.raises(TypeError, match="content must be a Mapping, got list"):
        Card.from_dict([])
