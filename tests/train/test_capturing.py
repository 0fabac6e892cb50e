"""The training step of a loop of one's own: as eager steps, on a CPU and captured on a GPU."""

import copy
import gc
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from symsets import DSS, RaggedSets, Sequential
from symsets.nn import Classify
from symsets.train import capture
from symsets.train.graphs import no_garbage_collection

GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
DEVICES = ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, GPU])]
# Not exactly: rates and step counts on a GPU are float32; torch adds 1e-6 to a norm that it clips.
NEARLY = {"rtol": 1e-5, "atol": 1e-5}
OPTIMISERS = {
    "adamw": lambda weights: torch.optim.AdamW(weights, lr=1e-2, weight_decay=0.1),
    "adam-foreach": lambda weights: torch.optim.Adam(weights, lr=1e-2, foreach=True),
    # Not foreach=True: it adds the momentum to the gradients themselves.
    "sgd": lambda weights: torch.optim.SGD(
        weights, lr=1e-2, momentum=0.9, nesterov=True, foreach=False
    ),
    "rmsprop": lambda weights: torch.optim.RMSprop(weights, lr=1e-3),
    "adagrad": lambda weights: torch.optim.Adagrad(weights, lr=1e-2),  # cannot be captured
}


def network(device, dtype=torch.float64):
    torch.manual_seed(0)
    net = Sequential(
        DSS(nn.Linear(3, 8), pool="mean"), nn.BatchNorm1d(8), nn.Tanh(), Classify(8, 2, pool="mean")
    )
    return net.to(device, dtype)


def batches(num, device, dtype=torch.float64, size=6):
    torch.manual_seed(1)
    x = torch.randn(num, size, 4, 3, dtype=dtype)
    return list(zip(x.to(device), (x.mean((2, 3)) > 0).long().to(device), strict=True))


def plain_step(net, optimiser, loss, x, y, clip=0.0):
    optimiser.zero_grad()
    value = loss(net(x), y)
    value.backward()
    if clip:
        nn.utils.clip_grad_norm_(net.parameters(), clip)
    optimiser.step()
    return value.detach()


def assert_same(net, other):
    for name, value in net.state_dict().items():
        torch.testing.assert_close(value, other.state_dict()[name], **NEARLY)
    for a, b in zip(net.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, **NEARLY)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("clip", [0.0, 0.1])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_steps_are_those_of_a_plain_loop(name, clip, device):
    net, other = network(device), network(device)
    optimiser, plain = (OPTIMISERS[name](n.parameters()) for n in (net, other))
    step = capture(net, optimiser, cross_entropy, clip=clip, precision="float64")
    for x, y in batches(8, device):
        expected = plain_step(other, plain, cross_entropy, x, y, clip)
        torch.testing.assert_close(step(x, y), expected, **NEARLY)
        assert_same(net, other)
    assert ("captured: 1 of 1" in repr(step)) == (device == "cuda" and name != "adagrad")


@pytest.mark.parametrize("device", DEVICES)
def test_losses_may_be_sums_and_are_kept_from_one_step_to_the_next(device):
    def loss(output, y, weight):
        return cross_entropy(output, y) + weight * output.square().mean()

    net, other = network(device), network(device)
    optimiser, plain = (torch.optim.AdamW(n.parameters(), lr=1e-2) for n in (net, other))
    step, weight = capture(net, optimiser, loss), torch.tensor(0.5, device=device)
    data = batches(7, device)
    losses = [step(x, y, weight) for x, y in data]
    for (x, y), value in zip(data, losses, strict=True):
        expected = plain_step(other, plain, lambda out, y: loss(out, y, weight), x, y)
        torch.testing.assert_close(value, expected, **NEARLY)
    assert_same(net, other)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("late", [False, True])
def test_learning_rates_follow_schedulers_and_numbers(device, late):
    net, other = network(device), network(device)
    optimiser, plain = (torch.optim.AdamW(n.parameters(), lr=1e-2) for n in (net, other))
    schedulers = [] if late else [torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.7)]
    step = capture(net, optimiser, cross_entropy, precision="float64")
    schedulers += [torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.7)] if late else []
    schedulers += [torch.optim.lr_scheduler.ExponentialLR(plain, 0.7)]
    for k, (x, y) in enumerate(batches(10, device)):
        if k == 7:
            optimiser.param_groups[0]["lr"] = plain.param_groups[0]["lr"] = 0.5
        step(x, y)
        plain_step(other, plain, cross_entropy, x, y)
        for scheduler in schedulers:
            scheduler.step()
    assert_same(net, other)


@pytest.mark.parametrize("device", DEVICES)
def test_other_shapes_and_layouts_and_ragged_sets_are_steps_as_well(device):
    net, other = network(device), network(device)
    optimiser, plain = (torch.optim.AdamW(n.parameters(), lr=1e-2) for n in (net, other))
    step = capture(net, optimiser, cross_entropy, precision="float64")
    large, small = batches(12, device), batches(6, device, size=3)
    data = [batch for pair in zip(large, small * 2, strict=True) for batch in pair]
    data = [(x.transpose(1, 2).contiguous().transpose(1, 2), y) for x, y in data]
    ragged = [(RaggedSets(x.flatten(0, 1), [4] * len(x)), y) for x, y in small[:2]]
    for x, y in [*data, *ragged, *data[:2]]:
        expected = plain_step(other, plain, cross_entropy, x, y)
        torch.testing.assert_close(step(x, y), expected, **NEARLY)
        assert_same(net, other)
    assert ("captured: 2 of 2" in repr(step)) == (device == "cuda")


@pytest.mark.parametrize("device", DEVICES)
def test_shapes_that_do_not_come_back_are_not_captured(device):
    net = network(device)
    step = capture(net, torch.optim.AdamW(net.parameters()), cross_entropy)
    for size in range(2, 16):
        (batch,) = batches(1, device, size=size)
        assert step(*batch).isfinite()
    why = "captured: 0 of 8 shapes so far" if device == "cuda" else "the network is not on a GPU"
    assert why in repr(step)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("precision", "bound"), [("tf32", 3e-2), ("bfloat16", 1e-1), ("float16", 3e-2)]
)
def test_precisions_stay_near_the_exact_gradient(precision, bound, device):
    net, exact = network(device, torch.float32), network(device)
    optimiser, plain = (torch.optim.SGD(n.parameters(), lr=1e-3) for n in (net, exact))
    step = capture(net, optimiser, cross_entropy, precision=precision)
    for x, y in batches(6, device):
        plain_step(exact, plain, cross_entropy, x, y)
        value = step(x.float(), y)
    assert value.dtype == torch.float32
    longest = max(p.grad.norm() for p in exact.parameters())
    for a, b in zip(net.parameters(), exact.parameters(), strict=True):
        assert (a.grad.double() - b.grad).norm() < bound * max(b.grad.norm(), 0.1 * longest)
    if precision == "float16":
        assert step.scale.since.item() == 6


@pytest.mark.parametrize("device", DEVICES)
def test_an_overflow_takes_no_part_in_float16(device):
    net = network(device, torch.float32)
    optimiser = torch.optim.SGD(net.parameters(), lr=1.0)
    step = capture(net, optimiser, lambda out, y, s: cross_entropy(out, y) * s, precision="float16")
    data = batches(6, device, torch.float32)
    factor = torch.tensor(1.0, device=device)
    for x, y in data[:5]:
        step(x, y, factor)
    before = copy.deepcopy(net)
    assert step(*data[5], factor * torch.inf).isinf()
    assert step.scale.value.item() == 2.0**15
    for a, b in zip(net.parameters(), before.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("device", DEVICES)
def test_an_optimiser_and_weights_that_have_been_in_use_go_on(device):
    net, other = network(device), network(device)
    optimiser, plain = (torch.optim.AdamW(n.parameters(), lr=1e-2) for n in (net, other))
    data = batches(10, device)
    for x, y in data[:3]:
        plain_step(net, optimiser, cross_entropy, x, y)
        plain_step(other, plain, cross_entropy, x, y)
    step = capture(net, optimiser, cross_entropy, precision="float64")
    for k, (x, y) in enumerate(data[3:]):
        if k == 5:  # weights may be loaded at any time
            for each in (net, other):
                each.load_state_dict(network(device).state_dict())
        step(x, y)
        optimiser.zero_grad()  # a habit that must do no harm
        plain_step(other, plain, cross_entropy, x, y)
    for name, value in net.state_dict().items():
        torch.testing.assert_close(value, other.state_dict()[name], **NEARLY)


@pytest.mark.gpu
@GPU
def test_random_numbers_are_those_of_eager_steps():
    def run(take):
        net = nn.Sequential(nn.Linear(3, 64), nn.Dropout(0.5), nn.Linear(64, 2)).cuda()
        net.load_state_dict({k: torch.ones_like(v) for k, v in net.state_dict().items()})
        step = take(net, torch.optim.SGD(net.parameters(), lr=1e-2))
        torch.manual_seed(3)
        data = [(x[:, 0].contiguous(), y) for x, y in batches(8, "cpu", torch.float32)]
        torch.manual_seed(3)
        losses = [step(x.cuda(), y.cuda()) for x, y in data]
        return torch.stack(losses), torch.rand(3, device="cuda")

    def plain(net, optimiser):
        return lambda x, y: plain_step(net, optimiser, cross_entropy, x, y)

    for a, b in zip(run(lambda n, o: capture(n, o, cross_entropy)), run(plain), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.gpu
@GPU
def test_a_loss_that_waits_for_the_gpu_is_named():
    """In a process of its own: a failed capture may leave the device in disorder."""
    code = (
        "import os, torch\n"
        "from symsets.train import capture\n"
        "net = torch.nn.Linear(3, 1).cuda()\n"
        "loss = lambda out, y: out.mean() * out.sum().item()\n"
        "step = capture(net, torch.optim.SGD(net.parameters(), lr=0.1), loss)\n"
        "x = torch.ones(2, 3, device='cuda')\n"
        "try:\n"
        "    [step(x, x) for _ in range(5)]\n"
        "except RuntimeError as error:\n"
        "    os._exit(0 if 'must not wait for the GPU' in str(error) else 1)\n"
        "os._exit(2)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (nn.CrossEntropyLoss(reduction="none"), r"loss must return one number.*shape \(2,\)"),
        (lambda output, y: 1.0, r"loss must return one number.*got 1\.0"),
        (lambda output, y: output.detach().mean(), "loss must depend on weights that are trained"),
    ],
)
def test_a_loss_is_one_number_with_a_gradient(loss, message):
    net = network("cpu")
    step = capture(net, torch.optim.SGD(net.parameters()), loss)
    with pytest.raises(ValueError, match=message):
        step(torch.ones(2, 4, 3, dtype=torch.float64), torch.tensor([0, 1]))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"network": print}, TypeError, "network must be a Module, got builtin"),
        ({"optimiser": 0.1}, TypeError, "optimiser must be a Optimizer, got float"),
        ({"loss": "mse"}, TypeError, "loss must be a function of outputs and targets, got 'mse'"),
        ({"precision": "half"}, ValueError, "precision must be one of"),
        (
            {"optimiser": torch.optim.LBFGS([nn.Parameter(torch.zeros(1))])},
            TypeError,
            "optimiser must take steps without a closure, got LBFGS",
        ),
        ({"clip": -1.0}, ValueError, "clip must be 0 or positive, got -1.0"),
    ],
)
def test_wrong_arguments_are_named(arguments, error, message):
    net = network("cpu")
    given = {"network": net, "optimiser": torch.optim.SGD(net.parameters()), "loss": cross_entropy}
    with pytest.raises(error, match=message):
        capture(**{**given, **arguments})


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_collected_before_a_capture_and_not_inside(enabled, monkeypatch):
    calls = []
    monkeypatch.setattr(gc, "collect", lambda: calls.append(gc.isenabled()))
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with no_garbage_collection():
            calls.append(gc.isenabled())
        assert (calls, gc.isenabled()) == ([enabled, False], enabled)
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.gpu
@GPU
def test_an_older_graph_that_is_garbage_does_not_spoil_a_capture():
    def steps():
        net = nn.Linear(3, 2).cuda()
        step = capture(net, torch.optim.SGD(net.parameters(), lr=0.1), nn.functional.mse_loss)
        x, y = torch.ones(4, 3, device="cuda"), torch.ones(4, 2, device="cuda")
        losses = [step(x, y).item() for _ in range(6)]
        assert losses == sorted(losses, reverse=True)
        return step

    threshold = gc.get_threshold()
    try:
        for _ in range(3):
            old = [steps()]
            old.append(old)  # only the collector finds it
            del old
            gc.set_threshold(1)
    finally:
        gc.set_threshold(*threshold)
