"""The expressivity claim made visible: what early aggregation sees and late aggregation cannot.

A set holds four copies of one random periodic signal, of different heights. In one class they lie
as they were made; in the other, two of them have been shifted. Moving elements on their own is
invisible to a Siamese network, whatever its weights: to it both classes are one orbit of the wreath
product. A network with a single DSS layer tells them apart.

With the heights (1, -1, 2, -2) the elements of every set add up to zero. Such sets lie in the
exceptional set of the universality theorem: their sum says nothing, their power sums do.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from symsets.experiments.study.records import Record, device_name, write_records
from symsets.experiments.study.runs import claim_directory
from symsets.nn import CircularConv1d, Classify, Sequential, set_layer

STORY = (
    "Each set holds four periodic signals; in half of the sets two of them were\n"
    "shifted. Which is which? A Siamese network looks at one signal at a time and\n"
    "adds up: it cannot know. A DSS layer shows every signal the sum of its set."
)
LENGTH = 16
WIDTH = 32
HEIGHTS = {"any-sum": (1.0, 1.0, 2.0, 2.0), "equal-sums": (1.0, -1.0, 2.0, -2.0)}
MODELS = {  # the schemes of the two layers
    "siamese": ("siamese", "siamese"),
    "dss-sum": ("dss-sum", "siamese"),
    "dss-power2": ("dss-power2", "siamese"),
    "dss-sum-twice": ("dss-sum", "dss-sum"),
}
BATCH = 64
LEARNING_RATE = 1e-2
TEST_PAIRS = 2000
Advance = Callable[[str, float], None]


@dataclass(frozen=True)
class Outcome:
    """What one network reached."""

    record: Record
    largest_difference: float


def make_sets(
    num: int, setting: str, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """Return sets ``(num, 4, 1, LENGTH)`` and the same sets with two elements shifted.

    Example:
        >>> x, moved = make_sets(3, "equal-sums")
        >>> bool(x.sum(1).abs().max() < 1e-5), bool(moved.sum(1).abs().max() < 1e-5)
        (True, True)
    """
    signal = torch.rand(num, 1, 1, LENGTH, generator=generator)
    x = torch.tensor(HEIGHTS[setting]).reshape(4, 1, 1) * signal
    shift = torch.randint(1, LENGTH, (num, 1), generator=generator)
    source = (torch.arange(LENGTH) - shift) % LENGTH
    shifted = x[:, 2:].gather(-1, source[:, None, None].expand(-1, 2, 1, -1))
    return x, torch.cat([x[:, :2], shifted], dim=1)


def network(model: str) -> Sequential:
    """Return one of the networks that are compared: two layers, then a label for the set."""
    first, second = MODELS[model]

    def conv(i: int, o: int) -> nn.Module:
        return CircularConv1d(i, o, LENGTH)

    return Sequential(
        set_layer(first, conv, 1, WIDTH, size=4),
        nn.ReLU(),
        set_layer(second, conv, WIDTH, WIDTH, size=4),
        nn.ReLU(),
        Classify(WIDTH, 2, hidden=(WIDTH,), size=4),
    )


def run(
    out: Path,
    *,
    steps: int = 400,
    seeds: int = 1,
    device: str = "cpu",
    advance: Advance = lambda name, loss: None,
) -> list[Outcome]:
    """Train every network in both settings and write ``results.json``.

    ``advance`` is called after every step with the name of the run and the loss.
    """
    claim_directory(out, {"experiment": "orbits"})
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # networks this small only lose time between threads
    try:
        runs = product(HEIGHTS, MODELS, range(seeds))
        outcomes = [_train(*described, steps, device, advance) for described in runs]
    finally:
        torch.set_num_threads(threads)
    write_records(out / "results.json", [outcome.record for outcome in outcomes])
    return outcomes


def _train(
    setting: str, model: str, seed: int, steps: int, device: str, advance: Advance
) -> Outcome:
    start = time.perf_counter()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        net = network(model).to(device)
    data = torch.Generator().manual_seed(1000 + seed)
    optimiser = torch.optim.Adam(net.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LEARNING_RATE, total_steps=steps)
    for _ in range(steps):
        scores = net(torch.cat(make_sets(BATCH, setting, data)).to(device))
        loss = cross_entropy(scores, _labels(BATCH).to(device))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        advance(f"{model}, {setting}", loss.item())
    accuracy, difference = _test(net, setting, device)
    record = Record(
        experiment="orbits",
        model=model,
        scheme=MODELS[model][0],
        setting=setting,
        data="generated",
        train_size=2 * BATCH * steps,
        epochs=1,
        seed=seed,
        metric="accuracy",
        value=accuracy,
        parameters=sum(p.numel() for p in net.parameters()),
        seconds=round(time.perf_counter() - start, 2),
        device=device_name(device),
    )
    return Outcome(record, difference)


def _labels(num: int) -> Tensor:
    return torch.tensor([0, 1]).repeat_interleave(num)


@torch.no_grad()
def _test(net: nn.Module, setting: str, device: str) -> tuple[float, float]:
    """Return the accuracy, and the largest difference between the answers to X and X moved."""
    pairs = make_sets(TEST_PAIRS, setting, torch.Generator().manual_seed(1))
    scores = net(torch.cat(pairs).to(device)).cpu()
    accuracy = (scores.argmax(1) == _labels(TEST_PAIRS)).float().mean().item()
    one, other = scores.split(TEST_PAIRS)
    return accuracy, (one - other).abs().max().item()
