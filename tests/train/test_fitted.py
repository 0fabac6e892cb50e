"""Which epoch is kept."""

import math

import pytest
import torch
from torch import nn

from symsets.train import fit
from symsets.train.fitted import Fitted
from symsets.train.metrics import ACCURACY
from symsets.train.plan import Plan

ACCURACIES, LOSSES = (0.5, 0.9, 0.9, 0.8, 0.7), (math.inf, 0.4, 0.3, 0.2, 0.25)


def trained(keep, patience=1000):
    fitted, plan = Fitted(), Plan(5, keep=keep, patience=patience)
    for epoch, (accuracy, loss) in enumerate(zip(ACCURACIES, LOSSES, strict=True), start=1):
        if fitted.stopped:
            break
        row = {"epoch": epoch, "train_loss": 1.0, "seconds": 1.0}
        row |= {"val_accuracy": accuracy, "val_loss": loss}
        fitted.add(row, plan, ACCURACY, lambda epoch=epoch: {"epoch": torch.tensor(epoch)})
    return fitted


@pytest.mark.parametrize(("keep", "epoch"), [("metric", 3), ("loss", 4)])
def test_the_epoch_is_kept_that_is_best_by_the_metric_or_by_the_loss(keep, epoch):
    fitted = trained(keep)  # the loss decides between epochs 2 and 3, of one accuracy
    assert fitted.best["epoch"] == epoch == fitted.epochs - fitted.waited
    assert fitted.best_metric == ACCURACIES[epoch - 1]


def test_patience_counts_epochs_since_the_one_that_is_kept():
    assert trained("metric", patience=1).epochs == 4
    assert trained("metric", patience=2).epochs == 5
    assert trained("loss", patience=2).epochs == 5


def test_the_card_says_what_was_measured_in_the_epoch_that_is_kept():
    torch.manual_seed(0)
    x = torch.randn(64, 4, 3)
    y = (x[..., 0].amax(1) + torch.randn(64) > 1).long()
    net = nn.Sequential(nn.Flatten(), nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 2))
    halves = (x[:32], y[:32]), (x[32:], y[32:])
    net = fit(net, *halves, epochs=30, learning_rate=0.03, keep="loss", progress=False)
    best = min(net.history, key=lambda row: row["val_loss"])
    assert best["epoch"] < 30  # it is overfitted
    assert net.card.metrics == {"loss": best["val_loss"], "accuracy": best["val_accuracy"]}


def test_nan_in_validation_ends_training():
    x, y = torch.randn(16, 4, 3), torch.arange(16) % 2
    net = nn.Sequential(nn.Flatten(), nn.Linear(12, 2))
    bad = x.clone()
    bad[3, 1, 0] = math.nan
    problem = "was no finite number in epoch 1; look for such numbers in the sets"
    for keep in ("metric", "loss"):
        with pytest.raises(RuntimeError, match=problem):
            fit(net, (x, y), (bad, y), epochs=3, keep=keep, progress=False)
    with pytest.raises(RuntimeError, match=problem):
        fit(net, (bad, y), (x, y), epochs=3, progress=False)
