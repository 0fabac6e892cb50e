import math
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from symsets.data import LabelledSets
from symsets.experiments.signals.network import SignalNetwork
from symsets.experiments.signals.sets import Signals
from symsets.train.ensemble import Ensemble
from symsets.train.evaluation import evaluate
from symsets.train.fitting import fit_together
from symsets.train.metrics import ACCURACY, Metric, Task
from symsets.train.plan import Plan

SIGNALS = Signals(num_elements=5, length=16)
CLASSIFY = Task(cross_entropy, (ACCURACY,))
EXACT = {"epochs": 4, "precision": "float64", "average": 0.5, "learning_rate": 1e-2}


def network(seed):
    torch.manual_seed(seed)
    return SignalNetwork("dss-sum", widths=(6, 6, 4), num_elements=5, length=16)


@pytest.fixture(scope="module")
def sets():
    return [SIGNALS.make(split, 200).to("cpu", torch.float64) for split in ("train", "val")]


def train(sets, seeds, plan, **options):
    nets = [network(seed) for seed in seeds]
    return fit_together(nets, seeds, plan, *sets, CLASSIFY, **options)


def values(fitted):
    return [(row["epoch"], row["train_loss"], row["val_accuracy"]) for row in fitted.curves]


def assert_same(a, b, tolerance=1e-9):
    assert a.epochs == b.epochs
    for one, other in zip(values(a), values(b), strict=True):
        assert one == pytest.approx(other, rel=1e-5)
    for name, value in a.best.items():
        torch.testing.assert_close(value, b.best[name], rtol=tolerance, atol=tolerance)


def test_seeds_together_give_what_they_give_alone(sets):
    plan = Plan(**EXACT, patience=2)
    together = train(sets, [0, 1, 2], plan)
    for seed, fitted in enumerate(together):
        assert_same(fitted, train(sets, [seed], plan)[0], tolerance=1e-7)
    assert values(together[0]) != values(together[1])


@pytest.mark.parametrize("average", [0.0, 0.5])
def test_a_run_that_was_interrupted_ends_where_it_would_have(sets, tmp_path, average):
    class StopHereError(Exception):
        pass

    def interrupt(epoch, metrics):
        if epoch == 2:
            raise StopHereError

    plan = Plan(**{**EXACT, "average": average})
    checkpoint = tmp_path / "last.ckpt"
    with pytest.raises(StopHereError):
        train(sets, [0], plan, checkpoint=checkpoint, progress=interrupt)
    seen = []
    resumed = train(
        sets, [0], plan, checkpoint=checkpoint, progress=lambda epoch, _: seen.append(epoch)
    )
    assert seen == [2, 3]
    assert_same(resumed[0], train(sets, [0], plan)[0], tolerance=0)


def test_the_best_epoch_on_validation_is_kept(sets):
    fitted = train(sets, [0], Plan(epochs=5, precision="float64", learning_rate=0.03))[0]
    assert fitted.best_metric == max(row["val_accuracy"] for row in fitted.curves)
    net = network(0).double()
    net.load_state_dict(fitted.best)
    found = evaluate(Ensemble([net]), sets[1], CLASSIFY, precision="float64")[0]
    assert found.mean("accuracy") == fitted.best_metric


def test_errors_are_better_when_they_are_smaller(sets):
    entropy = Metric(
        "entropy", lambda out, y: cross_entropy(out, y, reduction="none"), larger_is_better=False
    )
    plan = Plan(epochs=4, precision="float64", learning_rate=0.03)
    fitted = fit_together([network(0)], [0], plan, *sets, Task(cross_entropy, (entropy,)))[0]
    assert fitted.best_metric == min(row["val_entropy"] for row in fitted.curves)
    assert fitted.best_metric < max(row["val_entropy"] for row in fitted.curves)


def test_each_seed_stops_on_its_own(sets):
    plan = Plan(epochs=12, patience=2, precision="float64", learning_rate=0.01)
    together = train(sets, list(range(6)), plan)
    assert len({fitted.epochs for fitted in together}) > 1
    for fitted in together:
        ranks = [(row["val_accuracy"], -row["val_loss"]) for row in fitted.curves]
        best = ranks.index(max(ranks))
        assert fitted.epochs == min(12, best + 1 + 2)


def test_a_nan_stops_its_run_and_no_other(sets):
    nets = [network(0), network(1)]
    with torch.no_grad():
        next(nets[0].parameters()).fill_(math.nan)
    plan = Plan(**EXACT)
    bad, good = fit_together(nets, [0, 1], plan, *sets, CLASSIFY)
    assert bad.failed
    assert bad.epochs == 1
    assert_same(good, train(sets, [1], plan)[0], tolerance=1e-7)


def test_learning_happens():
    easy = Signals(num_elements=5, length=64, noise=0.1)
    train_sets, val = easy.make("train", 1000), easy.make("val", 300)
    net = SignalNetwork("dss-sum", widths=(16, 16, 8), num_elements=5, length=64)
    plan = Plan(epochs=8, learning_rate=1e-2, average=0.5)
    fitted = fit_together([net], [0], plan, train_sets, val, CLASSIFY)[0]
    assert fitted.best_metric > 0.6
    losses = [row["train_loss"] for row in fitted.curves]
    assert losses[-1] < 0.7 * losses[0]


def test_an_unreadable_checkpoint_is_named(sets, tmp_path):
    checkpoint = tmp_path / "last.ckpt"
    checkpoint.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"checkpoint .*last\.ckpt cannot be read .* delete it"):
        train(sets, [0], Plan(**EXACT), checkpoint=checkpoint)


def test_rare_validation_changes_what_is_seen_and_not_what_is_learnt(sets, tmp_path):
    rare = train(sets, [0], Plan(**{**EXACT, "epochs": 4, "validate_every": 2}))[0]
    often = train(sets, [0], Plan(**{**EXACT, "epochs": 4}))[0]
    assert [row["epoch"] for row in rare.curves] == [2, 4]
    for two, one in zip(rare.curves, often.curves[1::2], strict=True):
        assert two["val_loss"] == one["val_loss"]
    first = (often.curves[0]["train_loss"] + often.curves[1]["train_loss"]) / 2
    assert rare.curves[0]["train_loss"] == pytest.approx(first, rel=1e-6)
    assert rare.epochs == often.epochs == 4


def test_float16_trains_as_float32_does_and_keeps_its_scale(sets, tmp_path):
    sets = [part.to("cpu", torch.float32) for part in sets]
    path = tmp_path / "last.ckpt"
    half = train(sets, [0], Plan(**{**EXACT, "precision": "float16"}), checkpoint=path)
    exact = train(sets, [0], Plan(**{**EXACT, "precision": "float32"}))
    for a, b in zip(half[0].curves, exact[0].curves, strict=True):
        assert 0 < abs(a["train_loss"] - b["train_loss"]) < 0.02
    saved = torch.load(path, weights_only=True)["scale"]
    assert saved["value"].tolist() == [2.0**16]
    assert saved["since"].item() > 0


def test_a_checkpoint_of_another_plan_is_refused_by_name(sets, tmp_path):
    class StopHereError(Exception):
        pass

    def interrupt(epoch, metrics):
        if epoch == 2:
            raise StopHereError

    plan, checkpoint = Plan(**EXACT), tmp_path / "last.ckpt"
    with pytest.raises(StopHereError):
        train(sets, [0], plan, checkpoint=checkpoint, progress=interrupt)
    with pytest.raises(
        ValueError, match=r"another plan or other sets \(validate_every 1 → 2\): delete it"
    ):
        train(sets, [0], replace(plan, validate_every=2), checkpoint=checkpoint)
    with pytest.raises(ValueError, match=r"seeds \[0\] → \[1\]"):
        train(sets, [1], plan, checkpoint=checkpoint)
    with pytest.raises(ValueError, match="training sets 200 → 100"):
        train([sets[0].first(100), sets[1]], [0], plan, checkpoint=checkpoint)


def test_random_numbers_are_left_alone(sets):
    net = network(0)
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    fit_together([net], [0], Plan(epochs=1, precision="float64"), *sets, CLASSIFY)
    assert torch.equal(torch.rand(1), expected)


class Shifted(nn.Module):
    """A network with a buffer that is not of batch normalisation."""

    def __init__(self):
        super().__init__()
        self.norm = nn.InstanceNorm1d(1, track_running_stats=True)
        self.map = nn.Linear(16, 3)
        self.count = nn.Parameter(torch.tensor([3]), requires_grad=False)

    def forward(self, x):
        return self.map(self.norm(x.flatten(0, 1)).unflatten(0, x.shape[:2]).mean((1, 2)))


def test_averages_have_the_buffers_of_what_they_average(sets):
    far = [LabelledSets(part.x.float() + 5, part.y) for part in sets]
    plan = Plan(epochs=1, batch_size=5, average=0.5)
    (fitted,) = fit_together([Shifted()], [0], plan, *far, CLASSIFY)
    assert abs(fitted.best["norm.running_mean"].item() - 5) < 1
    assert fitted.best["count"].tolist() == [3]


def interrupted(sets, path, **options):
    """Leave the checkpoint of a run that was stopped after its first epoch."""

    def stop(epoch, values):
        if epoch == 1:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        train(sets, [0], Plan(**EXACT), checkpoint=path, progress=stop, **options)
    assert path.exists()


def test_a_checkpoint_goes_on_only_under_the_same_conditions(sets, tmp_path):
    path = tmp_path / "run.ckpt"
    interrupted(sets, path)
    plan, other = Plan(**EXACT), network(0)
    other.extra = nn.Identity()
    smaller = Task(cross_entropy, (Metric("error", ACCURACY.function, larger_is_better=False),))
    with pytest.raises(ValueError, match=r"metric accuracy ↑ → error ↓"):
        fit_together([network(0)], [0], plan, *sets, smaller, checkpoint=path)
    with pytest.raises(ValueError, match=r"network SignalNetwork \w+ → SignalNetwork \w+"):
        fit_together([other], [0], plan, *sets, CLASSIFY, checkpoint=path)
    with pytest.raises(ValueError, match=r"validation sets 200 → 100"):
        fit_together(
            [network(0)], [0], plan, sets[0], sets[1].first(100), CLASSIFY, checkpoint=path
        )
    (fitted,) = train(sets, [0], replace(plan, evaluation_batch=7), checkpoint=str(path))
    assert fitted.epochs == EXACT["epochs"]


def test_a_file_of_something_else_is_no_checkpoint(sets, tmp_path):
    path = tmp_path / "run.ckpt"
    torch.save({"weights": torch.zeros(3)}, path)
    with pytest.raises(ValueError, match=r"run\.ckpt cannot be read .*delete it to start this run"):
        train(sets, [0], Plan(**EXACT), checkpoint=path)


def test_wrong_arguments_are_named(sets):
    nothing = LabelledSets(sets[1].x[:0], sets[1].y[:0])
    with pytest.raises(ValueError, match=r"val must hold at least one set, got none"):
        fit_together([network(0)], [0], Plan(**EXACT), sets[0], nothing, CLASSIFY)
    with pytest.raises(TypeError, match=r"networks must be a list, as in \[net\], got one "):
        fit_together(network(0), [0], Plan(**EXACT), *sets, CLASSIFY)
    with pytest.raises(TypeError, match="train must be a SetDataset, got tuple"):
        fit_together([network(0)], [0], Plan(**EXACT), tuple(sets[0]), sets[1], CLASSIFY)
    with pytest.raises(ValueError, match=r"seeds must be a list, one per .*, as in \[0\], got"):
        fit_together([network(0)], [0, 1], Plan(**EXACT), *sets, CLASSIFY)
    with pytest.raises(ValueError, match=r"seeds must be a list, one per .*, as in \[0\], got 0"):
        fit_together([network(0)], 0, Plan(**EXACT), *sets, CLASSIFY)
    with pytest.raises(TypeError, match="plan must be a Plan, got int"):
        fit_together([network(0)], [0], 3, *sets, CLASSIFY)
    with pytest.raises(TypeError, match="task must be a Task, got function"):
        fit_together([network(0)], [0], Plan(**EXACT), *sets, cross_entropy)
    scalar = Task(cross_entropy, (Metric("mean", lambda output, y: output.mean()),))
    with pytest.raises(ValueError, match=r"'mean' must return one value for each set"):
        fit_together([network(0)], [0], Plan(**EXACT), *sets, scalar)


def test_a_task_that_does_not_fit_is_noticed_before_training(sets):
    steps = []

    def loss(output, y):
        steps.append(output.requires_grad)
        return cross_entropy(output, y)

    scalar = Task(loss, (Metric("mean", lambda output, y: output.mean()),))
    with pytest.raises(ValueError, match="'mean' must return one value"):
        fit_together([network(0)], [0], Plan(**EXACT), *sets, scalar)
    assert not any(steps)


def test_a_gpu_that_is_not_there_is_named(sets, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ValueError, match=r"device must be one of \['cpu'\], got 'cuda' \(no GPU"):
        fit_together([network(0)], [0], Plan(**EXACT), *sets, CLASSIFY, device="cuda")
