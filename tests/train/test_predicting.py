"""Predictions: what each task gives, for sets in any form, also after saving and loading."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from symsets import DSS, RaggedSets, Sequential, collate, load, save
from symsets.data import LabelledSets
from symsets.models import Card
from symsets.nn import Classify, Merge, Select
from symsets.train import fit, predict

NAMES = ("left", "right")


def network(head):
    torch.manual_seed(0)
    return Sequential(DSS(nn.Linear(3, 8), pool="max"), nn.BatchNorm1d(8), nn.ReLU(), head).eval()


def with_card(net, task, **more):
    net.card = Card(task, "vectors", **more)
    return net


def sets_of_sizes(num=7):
    torch.manual_seed(1)
    return [torch.randn(1 + k % 4, 3) for k in range(num)]


class Folder(Dataset):
    """Sets with names, and elements with names, without targets."""

    def __init__(self):
        self.sets = sets_of_sizes()
        self.names = [f"set {k}" for k in range(len(self.sets))]

    def __len__(self):
        return len(self.sets)

    def __getitem__(self, k):
        return self.sets[k], None

    def elements(self, k):
        return [f"{k}/{i}.jpg" for i in range(len(self.sets[k]))]


def content(answers):
    """Return all that predictions say, pictures as lists."""
    rows = [dict(vars(answer)) for answer in answers]
    return [
        {**row, "picture": None if row["picture"] is None else row["picture"].tolist()}
        for row in rows
    ]


def test_classes_have_names_and_probabilities():
    net = with_card(network(Classify(8, 2)), "classify", classes=NAMES)
    sets = sets_of_sizes()
    for answer, x in zip(predict(net, sets, batch_size=3), sets, strict=True):
        expected = net(x[None]).softmax(1)[0]
        assert answer.label == NAMES[expected.argmax()]
        assert list(answer.probabilities) == list(NAMES)
        assert answer.probabilities["right"] == pytest.approx(expected[1].item(), abs=1e-6)
    assert [answer.name for answer in predict(net, sets)] == [str(k) for k in range(7)]
    without = with_card(network(Classify(8, 2)), "classify")
    assert predict(without, sets)[0].label in (0, 1)


def test_labels_are_those_that_are_more_probable_than_not():
    net = with_card(network(Classify(8, 3)), "labels", classes=("a", "b", "c"))
    for answer in predict(net, sets_of_sizes()):
        assert answer.labels == tuple(n for n, p in answer.probabilities.items() if p > 0.5)
        assert answer.label is None


def test_numbers_come_in_the_units_of_the_targets():
    target = {"mean": [100.0, -5.0], "std": [10.0, 2.0]}
    net = with_card(network(Classify(8, 2)), "regress", classes=("w", "h"), target=target)
    [answer] = predict(net, [sets_of_sizes()[3]])
    said = net(sets_of_sizes()[3][None])[0]
    assert answer.values == pytest.approx(
        {"w": 100 + 10 * said[0].item(), "h": -5 + 2 * said[1].item()}
    )


def test_elements_are_chosen_with_their_scores_and_names():
    net = with_card(network(Select(8)), "select")
    for k, answer in enumerate(predict(net, Folder(), batch_size=2, workers=0)):
        expected = net(Folder().sets[k][None])[0]
        assert answer.name == f"set {k}"
        assert answer.chosen == int(expected.argmax())
        assert answer.scores == pytest.approx(expected.tolist(), abs=1e-6)
        assert answer.elements == tuple(f"{k}/{i}.jpg" for i in range(1 + k % 4))
    target = {"mean": [50.0], "std": [2.0]}
    scored = predict(with_card(net, "score", target=target), Folder(), workers=0)
    assert scored[0].scores[0] == pytest.approx(50 + 2 * net(Folder().sets[0][None]).item())
    assert scored[0].chosen is None


def test_pictures_are_tensors():
    net = with_card(Merge(nn.Conv2d(3, 3, 1), pool="mean"), "merge")
    x = torch.rand(4, 5, 3, 6, 6)
    answers = predict(net, x, batch_size=3)
    torch.testing.assert_close(torch.stack([a.picture for a in answers]), net(x).detach())
    assert "picture=torch.float32 of shape (3, 6, 6)" in repr(answers[0])


X = torch.randn(7, 4, 3, generator=torch.Generator().manual_seed(0))
Y = torch.zeros(7, dtype=torch.int64)
FORMS = {
    "a tensor": X,
    "ragged sets": RaggedSets.from_list(list(X)),
    "a list": list(X),
    "a list of pairs": list(zip(X, Y, strict=True)),
    "a pair": (X, Y),
    "double precision": X.double(),
    "LabelledSets": LabelledSets(X, Y),
    "a TensorDataset": TensorDataset(X, Y),
    "a loader": DataLoader(LabelledSets(X, Y), batch_size=2, collate_fn=collate),
    "a loader without targets": DataLoader(list(X), batch_size=2),
}


@pytest.mark.parametrize("form", FORMS)
def test_sets_may_come_in_any_form(form):
    net = with_card(network(Classify(8, 2)), "classify")
    expected = net(X).softmax(1)[:, 1]
    found = [answer.probabilities[1] for answer in predict(net, FORMS[form], batch_size=3)]
    assert found == pytest.approx(expected.tolist(), abs=1e-6)


def test_workers_change_nothing():
    net = with_card(network(Select(8)), "select")
    alone, helped = (predict(net, Folder(), batch_size=2, workers=w) for w in (0, 2))
    assert content(alone) == content(helped)


@pytest.mark.parametrize("task", ["classify", "regress", "select", "merge"])
def test_a_loaded_network_predicts_exactly_what_the_fitted_one_did(task, tmp_path):
    x = torch.randn(60, 5, 3)
    net, y = {
        "classify": (network(Classify(8, 2)), (x[..., 0].amax(1) > 1).long()),
        "regress": (network(Classify(8, 2)), x[..., :2].amax(1) * 30 + 70),
        "select": (network(Select(8)), x[..., 0].argmax(1)),
        "merge": (Merge(nn.Linear(3, 3), pool="mean"), x.mean(1)),
    }[task]
    net = fit(net, (x, y), (x, y), task=task, epochs=2, progress=False, device="cpu")
    before = content(predict(net, sets_of_sizes()))
    save(net, tmp_path)
    assert content(predict(load(tmp_path), sets_of_sizes())) == before
    assert before


def test_the_network_stays_as_it_was():
    net = with_card(network(Classify(8, 2)), "classify")
    net.train()
    net[2].eval()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    predict(net, X)
    assert [part.training for part in net] == [True, True, False, True]
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


def test_no_sets_give_no_predictions():
    net = with_card(network(Classify(8, 2)), "classify")
    assert predict(net, []) == []
    assert predict(net, X[:0]) == []


@pytest.mark.parametrize(
    ("sets", "kind", "problem"),
    [
        (3, TypeError, "sets must be tensors, a list or a dataset, got int"),
        ("photos", TypeError, "sets must be tensors, a list or a dataset, got str"),
        ({"x": X}, TypeError, "sets must be tensors, a list or a dataset, got dict"),
        (X[0], ValueError, r"sets must be a tensor \(M, N, C, …\), got shape"),
        (X[..., :2], ValueError, "x must have shape"),
    ],
)
def test_bad_sets_get_a_sentence(sets, kind, problem):
    with pytest.raises(kind, match=problem):
        predict(with_card(network(Classify(8, 2)), "classify"), sets)


def test_a_network_must_say_what_it_is_for():
    with pytest.raises(ValueError, match=r"net must have a card, .* set net\.card = "):
        predict(network(Classify(8, 2)), X)
    wrong = with_card(nn.Flatten(0, 1), "merge")
    with pytest.raises(ValueError, match="net must return a row for each of 7 sets, got 28"):
        predict(wrong, X)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_network_comes_back_from_the_gpu():
    net = with_card(network(Classify(8, 2)), "classify")
    expected = [answer.probabilities[1] for answer in predict(net, X, device="cpu")]
    found = predict(net, X, device="cuda")
    assert [answer.probabilities[1] for answer in found] == pytest.approx(expected, abs=1e-5)
    assert next(net.parameters()).device.type == "cpu"


def test_nothing_is_chosen_from_an_empty_set():
    sets = RaggedSets(torch.randn(3, 3), sizes=[2, 0, 1])
    answers = predict(with_card(network(Select(8)), "select"), sets)
    assert [len(answer.scores) for answer in answers] == [2, 0, 1]
    assert answers[1].chosen is None
    assert answers[2].chosen == 0


@pytest.mark.parametrize(
    ("task", "head"),
    [
        ("classify", Classify(8, 2)),
        ("labels", Classify(8, 2)),
        ("regress", Classify(8, 2)),
        ("select", Select(8)),
        ("score", Select(8)),
        ("merge", Merge(nn.Linear(8, 3))),
    ],
)
def test_a_set_with_nan_is_named(task, head):
    net = with_card(network(head), task)
    sets = Folder()
    sets.sets[3][0, 1] = torch.nan
    problem = "sets must give answers without NaN, got NaN for set 'set 3'"
    with pytest.raises(ValueError, match=problem):
        predict(net, sets, batch_size=2)
