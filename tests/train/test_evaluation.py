import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, l1_loss

from symsets.data.labelled import LabelledSets
from symsets.experiments.colors.sets import ColorSets, grey
from symsets.models.unet import UNet
from symsets.train.ensemble import Ensemble
from symsets.train.evaluation import evaluate, outputs_of
from symsets.train.metrics import ACCURACY, Metric, Task, mean_absolute_error, psnr

CLASSIFY = Task(
    cross_entropy,
    (ACCURACY, Metric("entropy", lambda out, y: cross_entropy(out, y, reduction="none"), False)),
)
PICTURES = Task(
    l1_loss,
    (Metric("mae", mean_absolute_error(255), larger_is_better=False), Metric("psnr", psnr(1.0))),
    keep_outputs=False,
)


class Scores(nn.Module):
    """Scores of a set, with batch statistics and dropout that evaluation must leave alone."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.linear = nn.Linear(4, 3)

    def forward(self, x):
        return self.linear(nn.functional.dropout(self.norm(x.mean(1)), 0.5, self.training))


def networks(num=2):
    nets = [Scores().double() for _ in range(num)]
    for net in nets:
        net(torch.randn(9, 5, 4, dtype=torch.float64))  # statistics of its own
    return nets


def labelled(num=23):
    return LabelledSets(torch.randn(num, 5, 4, dtype=torch.float64), torch.randint(3, (num,)))


@pytest.mark.parametrize("batch_size", [1, 5, 23, 100])
def test_every_member_gets_what_a_plain_loop_gives(batch_size):
    nets, sets = networks(), labelled()
    found = evaluate(Ensemble(nets), sets, CLASSIFY, batch_size=batch_size)
    for net, one in zip(nets, found, strict=True):
        net.eval()
        with torch.no_grad():
            out = torch.stack([net(x[None])[0] for x in sets.x])
        torch.testing.assert_close(one.outputs, out, rtol=1e-9, atol=1e-9)
        assert torch.equal(one.targets, sets.y)
        right = [float(o.argmax() == y) for o, y in zip(out, sets.y, strict=True)]
        assert one.values["accuracy"].tolist() == right
        assert one.mean("accuracy") == pytest.approx(sum(right) / 23)
        losses = cross_entropy(out, sets.y, reduction="none")
        torch.testing.assert_close(one.values["entropy"], losses, rtol=1e-9, atol=1e-9)
        assert one.loss == pytest.approx(losses.mean().item(), rel=1e-9)
        assert one.mean("entropy") == pytest.approx(one.loss, rel=1e-9)


def test_members_differ():
    one, other = evaluate(Ensemble(networks()), labelled(), CLASSIFY)
    assert not torch.isclose(one.outputs, other.outputs).any()


@pytest.mark.parametrize("training", [False, True])
def test_evaluation_leaves_the_networks_as_they_were(training):
    ensemble = Ensemble(networks()).train(training)
    before = {name: value.clone() for name, value in ensemble.state_dict().items()}
    found = evaluate(ensemble, labelled(), CLASSIFY)
    assert ensemble.training == training
    assert all(torch.equal(value, before[name]) for name, value in ensemble.state_dict().items())
    assert not found[0].outputs.requires_grad


def test_the_mode_comes_back_when_a_network_fails():
    ensemble = Ensemble(networks()).train()
    with pytest.raises(RuntimeError):
        outputs_of(ensemble, torch.randn(2, 5, 9, dtype=torch.float64))
    assert ensemble.training


def photographs():
    return torch.randint(1, 256, (7, 3, 64, 64), dtype=torch.uint8)


@pytest.mark.parametrize("batch_size", [1, 4, 64])
def test_a_baseline_is_measured_like_a_network(batch_size):
    sets = ColorSets(photographs(), 11)
    (found,) = evaluate(grey, sets, PICTURES, batch_size=batch_size)
    x, y = sets.part(0, 11)
    errors = (grey(x) - y).double()
    mae = 255 * errors.abs().mean((1, 2, 3, 4))
    torch.testing.assert_close(found.values["mae"].double(), mae, rtol=1e-5, atol=0)
    decibels = -10 * errors.square().mean((1, 2, 3, 4)).log10()
    torch.testing.assert_close(found.values["psnr"].double(), decibels, rtol=1e-5, atol=0)
    assert found.mean("mae") == pytest.approx(mae.mean().item(), rel=1e-5)
    assert found.loss == pytest.approx(mae.mean().item() / 255, rel=1e-5)


def test_large_outputs_are_not_kept():
    (found,) = evaluate(grey, ColorSets(photographs(), 5), PICTURES)
    assert found.outputs is None
    assert found.targets is None
    assert set(found.values) == {"mae", "psnr"}
    assert all(value.shape == (5,) for value in found.values.values())


def test_half_precision_is_measured_in_full():
    net = UNet("siamese", widths=(2, 2, 4, 4)).eval()
    sets = ColorSets(photographs(), 3)
    seen = []
    task = Task(
        lambda out, y: l1_loss(out, y),
        (Metric("type", lambda out, y: seen.append((out.dtype, y.dtype)) or y.flatten(1)[:, 0]),),
        keep_outputs=False,
    )
    evaluate(Ensemble([net]), sets, task, precision="bfloat16")
    evaluate(lambda x: x.bfloat16(), sets, task, precision="bfloat16")
    assert set(seen) == {(torch.float32, torch.float32)}


def test_made_and_stored_sets_are_evaluated_alike():
    made = ColorSets(photographs(), 70)
    stored = LabelledSets(*made.part(0, 70))
    one, other = (evaluate(grey, sets, PICTURES, batch_size=9)[0] for sets in (made, stored))
    assert torch.equal(one.values["mae"], other.values["mae"])
    assert one.loss == other.loss


@pytest.mark.parametrize("num", [1, 3])
def test_an_ensemble_keeps_the_layout_of_its_weights(num):
    nets = [
        nn.Sequential(nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.Conv2d(5, 2, 1))
        .double()
        .to(memory_format=torch.channels_last)
        for _ in range(num)
    ]
    ensemble = Ensemble(nets)
    x = torch.randn(num, 2, 3, 6, 6, dtype=torch.float64)
    out = ensemble(x)
    out.square().sum().backward()
    for k, net in enumerate(nets):
        alone = net(x[k])
        alone.square().sum().backward()
        torch.testing.assert_close(out[k], alone, rtol=1e-9, atol=1e-9)
        for name, p in net.named_parameters():
            stacked = ensemble.stacked.get_parameter(name)
            assert torch.equal(stacked[k], p)
            assert stacked[k].stride() == p.stride()
            torch.testing.assert_close(stacked.grad[k], p.grad, rtol=1e-9, atol=1e-9)
            assert ensemble.member_state(k)[name].stride() == p.stride()


def test_members_of_different_layouts_keep_their_values():
    nets = [nn.Conv2d(3, 5, 3), nn.Conv2d(3, 5, 3).to(memory_format=torch.channels_last)]
    ensemble = Ensemble(nets)
    for k, net in enumerate(nets):
        assert torch.equal(ensemble.stacked.weight[k], net.weight)


def test_a_metric_that_was_not_measured_is_named():
    found = evaluate(networks(1)[0], labelled(), CLASSIFY)[0]
    known = r"\['accuracy', 'entropy'\]"
    with pytest.raises(ValueError, match=f"name must be one of {known}, got 'acc'"):
        found.mean("acc")


def test_a_network_returns_one_thing():
    task = Task(cross_entropy, (ACCURACY,))
    with pytest.raises(TypeError, match="network must return a tensor or sets, got tuple"):
        evaluate(lambda x: (x, x), labelled(), task)
    with pytest.raises(TypeError, match="network must be one network, got list"):
        evaluate(networks(1), labelled(), task)
    with pytest.raises(TypeError, match="sets must be a SetDataset, got Tensor"):
        evaluate(networks(1)[0], torch.zeros(2, 3), task)


def test_what_cannot_be_evaluated_is_named():
    net, task = networks(1)[0], Task(cross_entropy, (ACCURACY,))
    with pytest.raises(ValueError, match=r"precision must be one of \['float32', .*, got 'half'"):
        evaluate(net, labelled(), task, precision="half")
    with pytest.raises(ValueError, match="batch_size must be at least 1, got -1"):
        evaluate(net, labelled(), task, batch_size=-1)
    with pytest.raises(ValueError, match="sets must hold at least one set, got none"):
        evaluate(net, labelled(0), task)


def test_evaluation_does_not_change_a_network():
    net = nn.Sequential(nn.Flatten(), nn.Linear(80, 3), nn.BatchNorm1d(3), nn.Dropout(0.5)).double()
    net[2].eval()
    net[2].running_mean.fill_(0.1)
    sets = LabelledSets(torch.randn(20, 5, 16, dtype=torch.float64), torch.arange(20) % 3)
    results = [evaluate(net, sets, CLASSIFY)[0].loss for _ in range(2)]
    assert results[0] == results[1]
    assert net[2].running_mean.eq(0.1).all()
    assert [part.training for part in net] == [True, True, False, True]
