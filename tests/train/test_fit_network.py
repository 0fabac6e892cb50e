"""``fit`` trains one network on whatever people have, and can be killed at any moment."""

import copy
import csv
import multiprocessing

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset

import symsets
from symsets import DSS, RaggedSets, Sequential, collate
from symsets.data import LabelledSets
from symsets.models import Card
from symsets.nn import Classify, Merge, Select
from symsets.train import Metric, Plan, Task, evaluate, fit, predict
from symsets.train.checkpoints import Checkpoint

QUIET = {
    "progress": False,
    "epochs": 2,
    "batch_size": 32,
    "learning_rate": 1e-2,
    "device": "cpu",
}


def make(num=96, seed=0):
    """Return sets of five points, and whether one of them is far to the right."""
    x = torch.randn(num, 5, 3, generator=torch.Generator().manual_seed(seed))
    return x, (x[..., 0].amax(1) > 1).long()


def network(width=2, head=Classify, seed=0):
    torch.manual_seed(seed)
    last = Classify(8, width, pool="max") if head is Classify else head
    return Sequential(DSS(nn.Linear(3, 8), pool="max"), nn.ReLU(), last)


class Sets(Dataset):
    """Sets of different sizes, as a folder would have them."""

    def __init__(self, num=96, *, noise=0.0):
        self.x, self.y = make(num)
        self.noise = noise

    def __len__(self):
        return len(self.y)

    def __getitem__(self, k):
        x = self.x[k, : 2 + k % 4]
        return x + self.noise * torch.randn_like(x), self.y[k]


class Folder(Sets):
    """Sets that know what they are."""

    card = Card("classify", "vectors", classes=("left", "right"), element={"size": 3})

    @property
    def targets(self):
        return self.y


class Mean(nn.Module):
    """A network without weights."""

    def forward(self, x):
        return x.mean(1)[:, :2]


class Double(nn.Module):
    """A network with two outputs."""

    def forward(self, x):
        return x, x


def weights(net):
    return torch.cat([p.detach().flatten() for p in net.parameters()])


def test_a_network_learns_and_is_returned_itself():
    x, y = make(400)
    net = network()
    before = net.training
    found = fit(net, (x[:300], y[:300]), (x[300:], y[300:]), **{**QUIET, "epochs": 12})
    assert found is net
    assert before
    assert not net.training
    assert [row["epoch"] for row in net.history] == list(range(1, 13))
    best = max(row["val_accuracy"] for row in net.history)
    assert best > 0.85
    task = Task(nn.functional.cross_entropy, (symsets.train.ACCURACY,))
    [again] = evaluate(net, LabelledSets(x[300:], y[300:]), task)
    assert again.mean("accuracy") == pytest.approx(best)
    assert net.card == Card("classify", "vectors", metrics=net.card.metrics)
    assert net.card.metrics["accuracy"] == pytest.approx(best)


SAME = {
    "a pair of arrays": lambda x, y: (x.numpy(), y.numpy()),
    "a TensorDataset": lambda x, y: TensorDataset(x, y),
    "LabelledSets": LabelledSets,
    "a list of items": lambda x, y: list(zip(x, y, strict=True)),
    "a dataset of double precision": lambda x, y: list(zip(x.double(), y, strict=True)),
}


@pytest.mark.parametrize("kind", SAME)
def test_sets_may_come_in_any_form(kind):
    x, y = make()
    expected = fit(network(), (x, y), (x, y), **QUIET)
    found = fit(network(), SAME[kind](x, y), SAME[kind](x, y), **QUIET)
    torch.testing.assert_close(weights(found), weights(expected))


def test_workers_change_no_number_and_end_with_the_training():
    sets, nets = Sets(noise=0.5), []
    for workers in (0, 2):
        nets.append(fit(network(), sets, Sets(), workers=workers, **QUIET))
    assert torch.equal(weights(nets[0]), weights(nets[1]))
    assert not multiprocessing.active_children()
    other = fit(network(), sets, Sets(), seed=1, **QUIET)
    assert not torch.equal(weights(other), weights(nets[0]))


def test_a_dataset_gives_the_numbers_of_the_same_sets_in_memory():
    sets = Sets()
    in_memory = LabelledSets(RaggedSets.from_list([x for x, _ in sets]), sets.y)
    expected = fit(network(), in_memory, in_memory, **QUIET)
    found = fit(network(), sets, sets, **QUIET)
    torch.testing.assert_close(weights(found), weights(expected))
    assert found.history[-1]["val_loss"] == pytest.approx(expected.history[-1]["val_loss"])


def test_a_loader_is_read_as_it_is():
    seen = []

    def watched(items):
        seen.append(len(items))
        return collate(items)

    loader = DataLoader(Sets(40), batch_size=12, shuffle=True, collate_fn=watched)
    net = fit(network(), loader, **QUIET)
    assert seen[-4:] == [12, 12, 12, 4]
    again = fit(network(), loader, **QUIET)
    assert torch.equal(weights(net), weights(again))  # the seed decides the order


def test_several_seeds_give_several_networks_each_as_alone():
    x, y = make()
    nets = fit(network(), (x, y), (x, y), seeds=3, seed=4, **QUIET)
    assert len(nets) == 3
    alone = fit(network(), (x, y), (x, y), seed=4, **QUIET)
    torch.testing.assert_close(weights(nets[0]), weights(alone))
    assert not torch.equal(weights(nets[1]), weights(nets[2]))
    assert all(len(net.history) == 2 and net.card.task == "classify" for net in nets)
    loader = DataLoader(Sets(40), batch_size=12, collate_fn=collate)
    assert len(fit(network(), loader, seeds=2, **QUIET)) == 2


def test_frozen_weights_stay_frozen_in_copies():
    net = network()
    net[0].element.weight.requires_grad_(False)
    nets = fit(net, make(), seeds=2, **QUIET)
    assert not nets[1][0].element.weight.requires_grad
    assert nets[1][0].context.weight.requires_grad


def ragged_scores(num=40):
    sets = [torch.randn(2 + k % 4, 3) for k in range(num)]
    return RaggedSets.from_list(sets), RaggedSets.from_list([100 + 7 * s[:, 0] for s in sets])


X, Y = make()
TASKS = {  # the data, the last layer, the task, its first metric
    "classify": ((X, Y), Classify(8, 2), "accuracy"),
    "labels": ((X, torch.stack([Y, 1 - Y, Y], 1).float()), Classify(8, 3), "accuracy"),
    "regress": ((X, X[..., :2].amax(1) * 10 + 500), Classify(8, 2), "mae"),
    "select": ((X, X[..., 1].argmax(1)), Select(8), "accuracy"),
    "score": (ragged_scores(), Select(8), "mae"),
    "merge": ((X[..., None], X.mean(1)[..., None]), None, "mae"),
}


@pytest.mark.parametrize("task", TASKS)
def test_the_task_is_found_and_learnt(task):
    data, head, metric = TASKS[task]
    net = network(head=head) if head else Merge(nn.Conv1d(3, 3, 1), pool="mean")
    fitted = fit(net, data, data, **{**QUIET, "epochs": 15})
    assert fitted.card.task == task
    assert fitted.history[-1]["train_loss"] < 0.8 * fitted.history[0]["train_loss"]
    assert f"val_{metric}" in fitted.history[0]
    assert bool(fitted.card.target) == (task in ("regress", "score"))


def test_numbers_are_scaled_for_training_and_errors_are_in_their_units():
    y = X[..., 0].amax(1) * 100 + 5000
    net = fit(network(1), (X, y), (X, y), **{**QUIET, "epochs": 20})
    assert net.card.target["mean"][0] == pytest.approx(y.mean().item())
    said = net(X).detach().squeeze(1) * net.card.target["std"][0] + net.card.target["mean"][0]
    assert net.card.metrics["mae"] == pytest.approx((said - y).abs().mean().item(), rel=1e-4)
    assert net.card.metrics["mae"] < (y - y.mean()).abs().mean().item()
    own = Metric("largest", lambda output, y: (output.squeeze(1) - y).abs(), False)
    net = fit(network(1), (X, y), (X, y), metrics=own, **QUIET)
    assert net.history[-1]["val_largest"] < 200


def test_a_loss_of_ones_own_gets_targets_as_they_are():
    def loss(output, y):
        assert y.min() > 400
        return (output.squeeze(1) - y).abs().mean()

    net = fit(network(1), (X, X[..., 0].amax(1) + 500), loss=loss, **QUIET)
    assert net.card.target == {}


def test_a_folder_says_what_its_sets_are():
    net = fit(network(), Folder(), Folder(), workers=0, **QUIET)
    assert net.card.classes == ("left", "right")
    assert net.card.element == {"size": 3}
    with pytest.raises(ValueError, match="net must return 2 scores, got 5"):
        fit(network(5), Folder(), workers=0, **QUIET)


def test_a_network_that_is_trained_on_keeps_its_classes():
    net = fit(network(), Folder(), workers=0, **QUIET)
    again = fit(net, (X, Y), (X, Y), **QUIET)
    assert again.card.classes == ("left", "right")
    assert again.card.metrics
    net[-1] = Classify(8, 3)
    assert fit(net, (X, Y), **QUIET).card.classes == ()


def test_rare_classes_are_weighed_up():
    y = torch.zeros(96, dtype=torch.int64)
    y[::12] = 1
    net = fit(network(), (X, y), (X, y), class_weights="balanced", **QUIET)
    by_hand = fit(network(), (X, y), (X, y), class_weights=[96 / 176, 96 / 16], **QUIET)
    torch.testing.assert_close(weights(net), weights(by_hand))
    plain = fit(network(), (X, y), (X, y), **QUIET)
    share = net(X).softmax(1)[:, 1].mean()
    assert share > 2 * plain(X).softmax(1)[:, 1].mean()
    labels = torch.stack([y, 1 - y], 1).float()
    fit(network(), (X, labels), class_weights="balanced", **QUIET)
    listed = Subset(Folder(), range(40))
    fit(network(), listed, class_weights="balanced", workers=0, **QUIET)
    unlisted = Subset(Sets(), range(40))
    fit(network(), unlisted, class_weights="balanced", workers=0, **QUIET)


def test_training_stops_early():
    still = Metric("still", lambda output, y: torch.ones(len(y)))
    options = {**QUIET, "epochs": 50, "metrics": (still,), "patience": 3}
    net = fit(network(), (X, Y), (X, 1 - Y), **options)
    losses = [row["val_loss"] for row in net.history]  # which decide, as the metric stands still
    assert len(losses) == losses.index(min(losses)) + 1 + 3 < 50


def test_a_plan_says_it_all():
    plan = Plan(epochs=3, batch_size=16, learning_rate=1e-2, average=0.9, validate_every=3)
    net = fit(network(), (X, Y), (X, Y), plan=plan, progress=False)
    assert [row["epoch"] for row in net.history] == [3]
    with pytest.raises(ValueError, match="epochs must be left out where plan says it"):
        fit(network(), (X, Y), plan=plan, epochs=7)
    with pytest.raises(ValueError, match="patience must be left out where plan says it"):
        fit(network(), (X, Y), plan=plan, patience=7)


def test_few_sets_make_small_batches():
    seen = []

    def loss(output, y):
        seen.append(len(y))
        return nn.functional.cross_entropy(output, y)

    options = {"epochs": 1, "loss": loss, "progress": False, "device": "cpu"}
    for num, size in ((40, 4), (160, 10), (600, 32)):
        fit(network(), make(num), **options)
        assert seen[-1] == size


def test_double_precision_is_kept():
    net = fit(network(), (X, Y), (X, Y), precision="float64", **QUIET)
    assert {p.dtype for p in net.parameters()} == {torch.float64}


def test_loggers_of_lightning_get_every_epoch(tmp_path):
    logger = pytest.importorskip("lightning.fabric.loggers").CSVLogger(tmp_path)
    fit(network(), (X, Y), (X, Y), loggers=logger, **QUIET)
    with open(next(tmp_path.rglob("metrics.csv"))) as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows] == ["1", "2"]
    assert float(rows[-1]["val_accuracy"]) > 0
    fit(network(), (X, Y), (X, Y), loggers=[logger], seeds=2, **QUIET)


def test_progress_is_a_few_lines_without_a_terminal(capsys):
    fit(network(), (X, Y), (X, Y), epochs=40, device="cpu")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("epoch  4/40   train loss 0.")
    assert "accuracy 0." in lines[0]
    assert lines[0].endswith("s left")
    fit(network(), (X, Y), epochs=2, device="cpu")
    assert "train loss" in capsys.readouterr().out
    fit(network(), (X, Y), **QUIET)
    assert capsys.readouterr().out == ""


def test_progress_is_a_bar_in_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    fit(network(), (X, Y), (X, Y), epochs=2, device="cpu")
    out = capsys.readouterr().out
    assert "epoch 2/2" in out
    assert "━" in out
    assert "accuracy 0." in out


def test_the_bar_begins_where_an_interrupted_training_goes_on(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    options = {"epochs": 4, "out": tmp_path, "device": "cpu"}
    save, saved = Checkpoint.save, []

    def interrupted(self, state, **given):
        save(self, state, **given)
        saved.append(state)
        if len(saved) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit(network(), (X, Y), (X, Y), **options)
    capsys.readouterr()
    fit(network(), (X, Y), (X, Y), **options)
    out = capsys.readouterr().out
    assert "epoch 3/4" in out
    assert "epoch 1/4" not in out


def test_random_numbers_are_left_alone():
    torch.manual_seed(3)
    expected = torch.rand(1)
    net = network()
    torch.manual_seed(3)
    fit(net, Sets(noise=1.0), Sets(noise=1.0), workers=0, **QUIET)
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize(
    ("given", "kind", "problem"),
    [
        ({"train": (X, Y[:3])}, ValueError, "y must hold a label for each set of x"),
        ({"train": ([*X], Y)}, TypeError, "x must be .* got list: RaggedSets.from_list makes sets"),
        ({"train": ([*X], Y.tolist())}, TypeError, "x must be .* got list: RaggedSets.from_list"),
        ({"train": (X, [0, 1])}, TypeError, r"y must be a tensor .* or RaggedSets, got list"),
        ({"train": X}, TypeError, r"train must be a SetFolder, .*got Tensor"),
        ({"train": 3}, TypeError, "train must be a SetFolder, a Dataset .* got int"),
        ({"train": []}, ValueError, "train must hold at least one set, got none"),
        ({"train": (X[:0], Y[:0])}, ValueError, "train must hold at least one set, got none"),
        ({"val": (X[:0], Y[:0])}, ValueError, "val must hold at least one set, got none"),
        (
            {"train": [X[0]]},
            TypeError,
            r"each item .* must be a pair \(set, target\), got torch.float32",
        ),
        ({"train": [(X[0], None)]}, ValueError, "train must have targets to learn from"),
        ({"train": (X, Y + 3)}, ValueError, "train must have labels from 0 to 1, got 4"),
        ({"train": (X, Y - 1)}, ValueError, "train must have labels from 0 to 1, got -1"),
        ({"val": (X, Y + 3)}, ValueError, "val must have labels from 0 to 1, got 4"),
        ({"train": (X[..., :2], Y)}, ValueError, "x must have shape .* for the Linear in DSS"),
        ({"task": "sort"}, ValueError, r"task must be one of \['classify'"),
        ({"task": "select"}, ValueError, r"net must return one score per element .*got \(2, 2\)"),
        ({"task": "regress"}, ValueError, "net must return as many numbers as the targets have"),
        ({"train": (X, Y.float()), "task": "classify"}, ValueError, "targets must be one integer"),
        ({"train": (X, Y.float())}, ValueError, r"targets have, .*, got \(2, 2\)$"),
        (
            {"train": (X, Y[:, None])},
            ValueError,
            r"targets have, .*, got \(2, 2\)$",
        ),
        ({"train": (X, X[:, 0])}, ValueError, r"targets have, \(2, 3\), got \(2, 2\)$"),
        ({"train": (X, torch.stack([Y] * 3, 1) + 5)}, ValueError, "task must be one of"),
        ({"net": Merge(nn.Linear(3, 3)), "train": (X, X[:, 0] * 9)}, None, ""),
        ({"net": nn.Flatten(0), "task": "classify"}, ValueError, r"net must return scores \(B, cl"),
        ({"net": Double()}, TypeError, "net must return a tensor or sets, got tuple"),
        ({"net": 3}, TypeError, "net must be a network, got int"),
        ({"seeds": 0}, ValueError, "seeds must be at least 1"),
        (
            {"out": __file__},
            ValueError,
            r"out must be a folder, got the file .*test_fit_network.py",
        ),
        ({"epochs": 0}, ValueError, "epochs must be at least 1"),
        ({"batch_size": 0}, ValueError, "batch_size must be at least 1"),
        ({"device": "tpu"}, ValueError, r"device must be one of \['auto', 'cpu'.* got 'tpu'"),
        ({"workers": -1}, ValueError, "workers must be 0 or positive, got -1"),
        ({"class_weights": "even"}, ValueError, r"class_weights must be one of \['balanced'\]"),
        ({"class_weights": [1.0]}, ValueError, "class_weights must be 'balanced' or 2 numbers"),
        ({"class_weights": [1.0, -1.0]}, ValueError, "class_weights must be 0 or positive"),
        (
            {"class_weights": "balanced", "train": (X, X[:, 0, :2] * 5)},
            ValueError,
            r"task with class_weights must be one of \['classify', 'labels'\], got 'regress'",
        ),
        (
            {"class_weights": "balanced", "loss": nn.functional.cross_entropy},
            ValueError,
            "class_weights must be left out with a loss of your own",
        ),
        (
            {"task": Task(nn.functional.cross_entropy, (symsets.train.ACCURACY,)), "loss": len},
            ValueError,
            "loss must be left out where task is a Task",
        ),
        ({"loss": 3}, TypeError, "loss must be a function"),
        ({"loggers": "wandb"}, TypeError, "loggers must be loggers of Lightning, got 'wandb'"),
        ({"loggers": None}, None, ""),
        ({"net": network().requires_grad_(False)}, ValueError, "net must have weights that may be"),
        ({"net": nn.Sequential(Mean())}, ValueError, "net must have weights that may be trained"),
        ({"patience": 3}, ValueError, "patience must be left out without val"),
        ({"keep": "loss"}, ValueError, "keep must be left out without val"),
        (
            {"loss": nn.CrossEntropyLoss(reduction="none")},
            ValueError,
            r"loss must return one number, a tensor without axes, got shape",
        ),
        ({"loss": lambda output, y: 1.0}, ValueError, "loss must return one number.* got 1.0"),
        (
            {"train": (X, X[:, 0, :2]), "task": "labels"},
            ValueError,
            'train must have labels of 0 and 1, got .*, or task="regress"',
        ),
        (
            {"train": (X, torch.full((len(X), 2), float("nan")))},
            ValueError,
            "train must have finite targets, got nan",
        ),
        (
            {"train": (X, X[:, 0, :2]), "val": (X, X[:, 0, :2] / 0)},
            ValueError,
            "val must have finite targets",
        ),
        (
            {"train": DataLoader(LabelledSets(X, Y), batch_size=len(X) + 1, drop_last=True)},
            ValueError,
            "train must hold at least one set, got none",
        ),
        ({"metrics": (3,)}, TypeError, "metrics must be a tuple of metrics"),
        (
            {"devices": 2, "train": DataLoader(LabelledSets(X, Y))},
            ValueError,
            "train and val must be no DataLoaders where processes",
        ),
    ],
)
def test_bad_input_gets_a_sentence_before_training_starts(given, kind, problem, monkeypatch):
    def started(*_):
        raise AssertionError("it trains")

    monkeypatch.setattr("symsets.train.training.Training.train", started)
    options = {"net": network(), "train": (X, Y), **QUIET, **given}
    if kind is None:
        with pytest.raises(AssertionError, match="it trains"):
            fit(**options)
        return
    with pytest.raises(kind, match=problem) as caught:
        fit(**options)
    assert "\n" not in str(caught.value)


def test_a_stream_without_an_end_is_refused():
    class Endless(torch.utils.data.IterableDataset):
        def __iter__(self):
            yield X[0], Y[0]

    with pytest.raises(TypeError, match="train must have a length, got a DataLoader of an Iter"):
        fit(network(), DataLoader(Endless()), **QUIET)
    with pytest.raises(TypeError, match="train must be a SetFolder"):
        fit(network(), Endless(), **QUIET)


def test_copies_need_parts_that_draw_new_weights():
    class Stiff(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.randn(3))

        def forward(self, x):
            return x * self.scale

    net = Sequential(Stiff(), Classify(3, 2))
    with pytest.raises(ValueError, match=r"part '0' \(Stiff\) of Sequential .* networks to fit_t"):
        fit(net, (X, Y), seeds=2, **QUIET)


def test_the_task_is_found_from_all_targets():
    """The first rows of numbers may be 0 and 1 by chance."""
    y = torch.rand(len(X), 2)
    y[:2] = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    for sets in ((X, y), list(zip(X, y, strict=True))):
        assert fit(network(), sets, **QUIET).card.task == "regress"


def test_a_loss_without_gradient_is_an_error():
    with pytest.raises(ValueError, match="loss must depend on weights that are trained"):
        fit(network(), (X, Y), loss=lambda output, y: output.detach().mean(), **QUIET)


class Transformed(Sets):
    """Sets that list other targets than they give, as those of torchvision do."""

    def __init__(self):
        super().__init__()
        self.targets = (self.y + 4).tolist()

    def __getitem__(self, k):
        return self.x[k], self.targets[k] - 4


def test_targets_that_a_dataset_transforms_are_those_it_gives():
    options = {**QUIET, "class_weights": "balanced"}
    plain, listed = network(), network()
    fit(plain, [Transformed()[k] for k in range(96)], **options)
    fit(listed, Transformed(), workers=0, **options)
    assert torch.equal(weights(plain), weights(listed))


def test_classes_are_counted_over_all_of_a_sorted_dataset():
    x = torch.randn(2400, 2, 3, generator=torch.Generator().manual_seed(0))
    y = (torch.arange(2400) >= 2100).long()
    streamed, held = network(), network()
    options = {**QUIET, "epochs": 1, "class_weights": "balanced"}
    fit(streamed, list(zip(x, y, strict=True)), **options)
    fit(held, (x, y), **options)
    a, b = ([row["train_loss"] for row in net.history] for net in (streamed, held))
    assert a == pytest.approx(b, rel=1e-3)


@pytest.mark.parametrize("kind", [torch.float64, torch.int64])
def test_large_numbers_keep_their_digits(kind):
    y = (1.7e9 + 100 * X[:, :, 0].double().mean(1)).to(kind)
    net = fit(network(1), (X, y), (X, y), task="regress", **{**QUIET, "epochs": 1})
    guess = (y - y.double().mean()).abs().mean()
    assert net.card.metrics["mae"] == pytest.approx(guess, rel=0.5)
    found = torch.tensor([one.values[0] for one in predict(net, X)], dtype=torch.float64)
    assert (found - y).abs().mean() == pytest.approx(net.card.metrics["mae"], rel=1e-3)


def test_numbers_of_numpy_are_numbers():
    plain, given = network(), network()
    fit(plain, (X, Y), class_weights=[0.5, 2.0], seed=3, **QUIET)
    fit(given, (X, Y), class_weights=np.array([0.5, 2.0]), seed=np.int64(3), **QUIET)
    assert torch.equal(weights(plain), weights(given))


def test_targets_of_several_axes_have_one_scale():
    y = X[:, 0, :2, None]
    assert len(fit(network(), (X, y), task="regress", **QUIET).card.target["mean"]) == 1


def test_a_loss_that_is_no_number_is_an_error_and_no_network():
    bad = X.clone()
    bad[3] = torch.nan
    with pytest.raises(
        RuntimeError, match="training failed: a loss, or the metric, was no finite number"
    ):
        fit(network(), (bad, Y), (X, Y), **QUIET)


def test_a_folder_holds_history_and_network(tmp_path):
    out = tmp_path / "runs" / "mine"
    net = fit(network(), (X, Y), (X, Y), out=out, **QUIET)
    loaded = symsets.load(out)
    assert torch.equal(loaded(X), net(X))
    assert loaded.card == net.card
    with open(out / "history.csv") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["val_loss"]) for row in rows] == [row["val_loss"] for row in net.history]
    nets = fit(network(), (X, Y), (X, Y), out=tmp_path / "three", seeds=3, seed=5, **QUIET)
    for seed, own in zip((5, 6, 7), nets, strict=True):
        assert torch.equal(symsets.load(tmp_path / "three" / f"seed-{seed}")(X), own(X))
    with open(tmp_path / "three" / "history.csv") as file:
        assert [row["seed"] for row in csv.DictReader(file)] == ["5", "5", "6", "6", "7", "7"]


def test_the_same_call_returns_the_same_at_once_and_another_is_refused(tmp_path, monkeypatch):
    first = fit(network(), (X, Y), (X, Y), out=tmp_path, **QUIET)
    monkeypatch.setattr("symsets.train.training.Training.train", None)
    again = fit(network(seed=9), (X, Y), (X, Y), out=tmp_path, **QUIET)
    assert torch.equal(weights(first), weights(again))
    assert again.history == first.history
    with pytest.raises(ValueError, match=r"another plan.*epochs 2 → 3.*delete it to start"):
        fit(network(), (X, Y), (X, Y), out=tmp_path, **{**QUIET, "epochs": 3})
    with pytest.raises(ValueError, match=r"class weights None → balanced.*delete it to start"):
        fit(network(), (X, Y), (X, Y), out=tmp_path, class_weights="balanced", **QUIET)


def test_a_training_does_not_go_on_with_another_loss(tmp_path):
    fit(network(), (X, Y), out=tmp_path, **QUIET)
    with pytest.raises(ValueError, match=r"loss None → cross_entropy"):
        fit(network(), (X, Y), out=tmp_path, loss=nn.functional.cross_entropy, **QUIET)


def test_a_metric_that_is_never_a_number_is_an_error_and_no_network():
    metric = Metric("odd", lambda output, y: output[:, 0] * float("nan"))
    with pytest.raises(
        RuntimeError, match="training failed: a loss, or the metric, was no finite number"
    ):
        fit(network(), (X, Y), (X, Y), metrics=metric, **QUIET)


def test_a_training_does_not_go_on_with_sets_that_have_changed(tmp_path):
    ragged = RaggedSets(X.flatten(0, 1), [len(x) for x in X])
    for name, x in {"dense": X, "ragged": ragged}.items():
        fit(network(), (x, Y), (x, Y), out=tmp_path / name, **QUIET)
        for train, val in (((x, 1 - Y), (x, Y)), ((x, Y), (X + 1, Y))):
            with pytest.raises(ValueError, match=r"content of the sets .* → .*delete it to start"):
                fit(network(), train, val, out=tmp_path / name, **QUIET)


def test_the_last_epoch_is_kept_however_rarely_checkpoints_were_saved(tmp_path, monkeypatch):
    def save_if_asked(self, state, *, always=False, save=Checkpoint.save):
        if always:
            save(self, state, always=True)

    monkeypatch.setattr(Checkpoint, "save", save_if_asked)
    first = fit(network(), (X, Y), (X, Y), out=tmp_path, **QUIET)
    monkeypatch.setattr("symsets.train.training.Training.train", None)
    again = fit(network(seed=9), (X, Y), (X, Y), out=tmp_path, **QUIET)
    assert torch.equal(weights(first), weights(again))


def test_a_network_that_cannot_be_described_keeps_its_weights(tmp_path):
    net = network()
    net[-1].mlp = nn.Linear(8, 2, bias=False)
    with pytest.warns(UserWarning, match="only weights will be saved in .*cannot be described"):
        fit(net, (X, Y), out=tmp_path, **QUIET)
    assert (tmp_path / "model.safetensors").is_file()
    assert not (tmp_path / "network.json").exists()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("task", TASKS)
def test_a_gpu_learns_what_a_cpu_does(task):
    data, head, _ = TASKS[task]
    found = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(0)
        net = Merge(nn.Conv1d(3, 3, 1), pool="mean") if head is None else network(head=head)
        net = fit(copy.deepcopy(net), data, data, **{**QUIET, "device": device})
        found.append([row["train_loss"] for row in net.history])
    assert found[0] == pytest.approx(found[1], rel=1e-3)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_workers_feed_a_gpu():
    alone, helped = (
        fit(network(), Sets(noise=0.5), Sets(), workers=w, **{**QUIET, "device": "cuda"})
        for w in (0, 2)
    )
    torch.testing.assert_close(weights(alone), weights(helped), rtol=1e-4, atol=1e-5)


def test_a_dry_run_checks_everything_and_trains_nothing(tmp_path):
    x, y = make()
    net, expected = network(), weights(network())
    assert fit(net, (x, y), **QUIET, out=tmp_path / "new", dry_run=True) is net
    assert torch.equal(weights(net), expected)
    assert not hasattr(net, "history")
    assert not (tmp_path / "new").exists()
    fit(network(), (x, y), **QUIET, out=tmp_path / "old")
    with pytest.raises(ValueError, match="epochs 2 → 3"):
        fit(net, (x, y), **QUIET | {"epochs": 3}, out=tmp_path / "old", dry_run=True)
