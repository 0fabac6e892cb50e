"""Bags of digits and of feature vectors: our schemes and pools beside the usual rivals.

Run ``python benchmarks/bags.py --out results/benchmarks/bags.json``: four questions about bags of
2–12 digits, three seeds, one learning rate per model, found on the validation bags of seed 0. All
models have the same element encoder or one of its size, the same bags and augmentation, about as
many parameters, and are measured after their last epoch. Then the CPU time of an epoch on one
thread: digits, and bags of 1–2,000 vectors of 1,024 features, ours beside padded batches. A run
that was stopped goes on with what ``--out`` holds. ``--quick`` takes half of the bags and epochs.
torchmil is measured if it can be imported. ``--workers K`` trains K networks at a time.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache, lru_cache, partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from kept import keep
from torch import Tensor, nn

from symsets import RaggedSets, Sequential, set_layer
from symsets.data import LabelledSets
from symsets.data.digits import TASKS, digit_bags
from symsets.data.splits import SPLITS
from symsets.models import Card, network_for
from symsets.models._trunks import Shift
from symsets.nn import AttentionPool, Classify

CLASSES, FEATURES = 11, 128  # of the answers; of an element after the encoder
RATES, SEEDS, BATCH = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2), (0, 1, 2), 32
VECTOR, HIDDEN = 1024, 256
CARD = Card(
    "classify", "pictures", tuple(map(str, range(CLASSES))), {"size": [8, 8], "channels": 1}
)
OURS: dict[str, dict[str, str]] = {
    **{f"siamese, {pool}": {"scheme": "siamese", "pool": pool} for pool in ("mean", "sum", "max")},
    "siamese, attention pool": {"scheme": "siamese", "pool": "attention"},
    **{name: {"scheme": name} for name in ("dss-sum", "dss-mean", "dss-max", "attention", "isab")},
    "dss-mean, attention pool": {"scheme": "dss-mean", "pool": "attention"},
}


class Encoder(nn.Module):
    """One picture to a vector, as in our network."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        wide = 2 * width

        def conv(i: int, o: int, **options: Any) -> nn.Module:
            return nn.Conv2d(i, o, 3, padding=1, **options)

        self.start = nn.Sequential(
            conv(1, width, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            conv(width, wide, stride=2),
        )
        act = (nn.BatchNorm2d(wide), nn.ReLU()), (nn.BatchNorm2d(wide), nn.ReLU())
        inner = (conv(wide, wide, bias=False) for _ in range(2))
        self.block = nn.Sequential(*act[0], next(inner), *act[1], next(inner))
        last = nn.Linear(16 * wide, FEATURES)
        self.end = nn.Sequential(nn.BatchNorm2d(wide), nn.ReLU(), nn.Flatten(), last, nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        x = self.start(x)
        return self.end(x + self.block(x))


class Padded(nn.Module):
    """A rival in plain torch: vectors of elements, padded, with a mask.

    Only what is there is encoded, so that padding never reaches batch statistics.
    """

    def __init__(self, bags: nn.Module) -> None:
        super().__init__()
        self.encoder, self.bags = Encoder(), bags

    def forward(self, x: RaggedSets) -> Tensor:
        return self.bags(*x.map(self.encoder).to_padded())


class DeepSets(nn.Module):
    """ρ(Σ_j φ(x_j)), Zaheer et al. 2017."""

    def __init__(self, i: int, h: int, o: int) -> None:
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.rho = nn.Sequential(nn.Linear(h, h), nn.ReLU(), nn.Linear(h, o))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.rho((self.phi(x) * mask.unsqueeze(-1)).sum(1))


class AttentionMIL(nn.Module):
    """Gated attention, Ilse et al. 2018."""

    def __init__(self, i: int, h: int, o: int) -> None:
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(i, h), nn.ReLU())
        self.value, self.gate, self.score = nn.Linear(h, h), nn.Linear(h, h), nn.Linear(h, 1)
        self.last = nn.Linear(h, o)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.embed(x)
        scores = self.score(self.value(x).tanh() * self.gate(x).sigmoid()).squeeze(-1)
        weights = scores.masked_fill(~mask, -torch.inf).softmax(1)
        return self.last((weights.unsqueeze(-1) * x).sum(1))


class Block(nn.Module):
    """The MAB of the Set Transformer."""

    def __init__(self, h: int) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(h, 4, batch_first=True)
        self.norms = nn.ModuleList(nn.LayerNorm(h) for _ in range(2))
        self.map = nn.Sequential(nn.Linear(h, h), nn.ReLU())

    def forward(self, x: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        absent = None if mask is None else ~mask
        x = self.norms[0](x + self.attend(x, y, y, key_padding_mask=absent)[0])
        return self.norms[1](x + self.map(x))


class SetTransformer(nn.Module):
    """Two ISABs with 16 points and PMA, Lee et al. 2019."""

    def __init__(self, i: int, h: int, o: int) -> None:
        super().__init__()
        h = 4 * math.ceil(h / 4)
        self.first, self.last = nn.Linear(i, h), nn.Linear(h, o)
        self.points = nn.Parameter(torch.randn(2, 16, h) / h**0.5)
        self.seed = nn.Parameter(torch.randn(1, h) / h**0.5)
        self.blocks = nn.ModuleList(Block(h) for _ in range(5))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.first(x)
        for points, gather, spread in zip(
            self.points, self.blocks[0:4:2], self.blocks[1:4:2], strict=True
        ):
            x = spread(x, gather(points.expand(len(x), -1, -1), x, mask))
        return self.last(self.blocks[4](self.seed.expand(len(x), -1, -1), x, mask)[:, 0])


RIVALS: dict[str, Callable[[int, int, int], nn.Module]] = {
    "Deep Sets": DeepSets,
    "attention-MIL": AttentionMIL,
    "Set Transformer": SetTransformer,
}


def parameters(net: nn.Module) -> int:
    return sum(p.numel() for p in net.parameters())


def make(name: str) -> nn.Module:
    """Return the network whose number of parameters is nearest to that of our default one."""
    widths = range(12, 21) if name in OURS else range(16, 257, 4)
    return _sized(name, min(widths, key=partial(_distance, name)))


def _sized(name: str, width: int) -> nn.Module:
    if name in OURS:
        return network_for(CARD, shift=0, width=width, **OURS[name])
    return Padded(RIVALS[name](FEATURES, width, CLASSES))


@cache
def _distance(name: str, width: int) -> int:
    with torch.random.fork_rng():  # a run depends on its seed only, not on those before it
        return abs(parameters(_sized(name, width)) - parameters(network_for(CARD, shift=0)))


@lru_cache(maxsize=3)
def sets_of(task: str, split: str, bags: int) -> LabelledSets:
    num = {"train": bags, "val": 1000, "test": 2000}[split]
    return digit_bags(task, num=num, split=split)


def train(name: str, task: str, rate: float, seed: int, bags: int, epochs: int) -> dict[str, Any]:
    """Return accuracies after the last epoch, and the CPU time of one."""
    data = {split: sets_of(task, split, bags) for split in SPLITS}
    torch.manual_seed(seed)
    net, shift, steps = make(name), Shift(1), bags // BATCH
    optimiser = torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, rate, total_steps=epochs * steps, pct_start=0.1
    )
    start = time.process_time()
    for _ in range(epochs):
        net.train()
        for which in torch.randperm(bags)[: steps * BATCH].reshape(-1, BATCH):
            x, y = data["train"].batch(which)
            loss = F.cross_entropy(net(x.map(shift)), y)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    seconds = (time.process_time() - start) / epochs
    net.eval()
    found = {}
    with torch.no_grad():
        for split in ("val", "test"):
            sets = data[split]
            parts = [sets.part(i, i + 500) for i in range(0, len(sets), 500)]
            right = torch.cat([net(x).argmax(1) == y for x, y in parts])
            found[split] = right.double().mean().item()
    return {**found, "seconds": seconds, "parameters": parameters(net)}


Run = tuple[str, str, float, int]  # model, task, learning rate, seed


def _key(run: Run) -> str:
    name, task, rate, seed = run
    return f"{name} | {task} | {rate:g} | {seed}"


def accuracies(
    runs: dict[str, Any], bags: int, epochs: int, workers: int, save: Callable[[], None]
) -> None:
    """Fill in what is missing."""

    def finish(wanted: Iterable[Run]) -> None:
        context = get_context("spawn")
        with ProcessPoolExecutor(workers, context, torch.set_num_threads, (1,)) as pool:
            missing = [run for run in wanted if _key(run) not in runs]
            tasks = {pool.submit(train, *run, bags, epochs): _key(run) for run in missing}
            for done in as_completed(tasks):
                runs[tasks[done]] = found = done.result()
                print(tasks[done], {k: round(v, 4) for k, v in found.items()}, flush=True)
                save()

    names = (*OURS, *RIVALS)
    finish((name, "largest", rate, SEEDS[0]) for name, rate in product(names, RATES))
    rates = {name: best_rate(runs, name) for name in names}
    finish((name, task, rates[name], seed) for task, seed, name in product(TASKS, SEEDS, names))


def best_rate(runs: dict[str, Any], name: str) -> float:
    """Return the learning rate with which a model is best on validation bags of seed 0."""
    return max(RATES, key=lambda rate: runs[_key((name, "largest", rate, SEEDS[0]))]["val"])


def table(runs: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return mean and std of test accuracies, of each model at the rate of its validation."""
    rows: dict[str, dict[str, Any]] = {}
    for name in (*OURS, *RIVALS):
        if any(_key((name, "largest", rate, SEEDS[0])) not in runs for rate in RATES):
            continue
        rate = best_rate(runs, name)
        rows[name] = {"learning_rate": rate}
        for task in TASKS:
            keys = [_key((name, task, rate, seed)) for seed in SEEDS]
            found = [runs[key] for key in keys if key in runs]
            if len(found) == len(SEEDS):
                test = [run["test"] for run in found]
                rows[name][task] = {"mean": statistics.mean(test), "std": statistics.stdev(test)}
                rows[name]["parameters"] = found[0]["parameters"]
    return rows


def skewed(num: int, seed: int = 0) -> RaggedSets:
    """Return bags whose sizes are spread evenly on a logarithmic scale from 1 to 2,000."""
    generator = torch.Generator().manual_seed(seed)
    sizes = (2000 ** torch.rand(num, generator=generator)).long().clamp(min=1).tolist()
    return RaggedSets(torch.randn(sum(sizes), VECTOR, generator=generator), sizes)


class PaddedDSS(nn.Module):
    """Two layers of DSS with means, then the maximum, on padded vectors."""

    def __init__(self, i: int, h: int, o: int) -> None:
        super().__init__()
        self.element = nn.ModuleList(nn.Linear(n, h) for n in (i, h))
        self.context = nn.ModuleList(nn.Linear(n, h, bias=False) for n in (i, h))
        self.last = nn.Linear(h, o)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        there, sizes = mask.unsqueeze(-1), mask.sum(1, keepdim=True)
        for element, context in zip(self.element, self.context, strict=True):
            mean = (x * there).sum(1) / sizes
            x = (element(x) + context(mean).unsqueeze(1)).relu()
        return self.last(x.masked_fill(~there, -torch.inf).amax(1))


def vector_models() -> Iterator[tuple[str, nn.Module, bool]]:
    """Give a name, a network for bags of vectors, and whether it takes padded ones."""
    pool = AttentionPool(HIDDEN, gated=True)
    embed = nn.Linear(VECTOR, HIDDEN)
    yield "attention-MIL, ours", Sequential(embed, nn.ReLU(), Classify(HIDDEN, 2, pool=pool)), False
    yield "attention-MIL, padded", AttentionMIL(VECTOR, HIDDEN, 2), True
    for scheme in ("dss-mean", "isab"):
        layers = [
            part
            for i in (VECTOR, HIDDEN)
            for part in (set_layer(scheme, nn.Linear, i, HIDDEN), nn.ReLU())
        ]
        yield f"{scheme}, ours", Sequential(*layers, Classify(HIDDEN, 2, pool="max")), False
    yield "dss-mean, padded", PaddedDSS(VECTOR, HIDDEN, 2), True
    yield "Set Transformer, padded", SetTransformer(VECTOR, HIDDEN, 2), True
    try:
        from torchmil.models import ABMIL
    except ImportError:
        return
    features = nn.Sequential(nn.Linear(VECTOR, HIDDEN), nn.ReLU())
    made = ABMIL((VECTOR,), att_dim=HIDDEN, att_act="tanh", gated=True, feat_ext=features)
    yield "attention-MIL, torchmil", made, True


def epoch_seconds(net: nn.Module, batches: list[RaggedSets], *, padded: bool) -> float:
    """Return the CPU time of an epoch: the median of three, after one that warms up.

    Batches are padded before, as a loader would.
    """
    optimiser, times = torch.optim.AdamW(net.parameters()), []
    inputs = [x.to_padded() if padded else (x,) for x in batches]
    for _ in range(4):
        start = time.process_time()
        for x in inputs:
            loss = net(*x).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        times.append(time.process_time() - start)
    return statistics.median(times[1:])


def timings(num: int) -> dict[str, Any]:
    bags, batch = skewed(num), 32
    batches = [bags[i : i + batch] for i in range(0, num, batch)]
    found = {}
    for name, net, padded in vector_models():
        found[name] = epoch_seconds(net, batches, padded=padded)
        print(f"{name}: {found[name]:.2f} s", flush=True)
    rows = sum(len(x) * max(x.partition.counts) for x in batches)
    small = {}
    digits = digit_bags(num=1024)
    of_digits = [digits.x[i : i + BATCH] for i in range(0, 1024, BATCH)]
    for name in ("dss-mean", "attention", "isab", "siamese, attention pool", *RIVALS):
        small[name] = epoch_seconds(make(name), of_digits, padded=False)
        print(f"{name}: {small[name]:.2f} s", flush=True)
    about = {"bags": num, "batch": batch, "elements": bags.partition.total, "padded": rows}
    return {"vectors": about | {"seconds": found}, "digits": {"bags": 1024, "seconds": small}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("accuracy", "time"))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    kept: dict[str, Any] = {}
    if options.out and options.out.is_file():
        kept = json.loads(options.out.read_text())
    bags, epochs = (2000, 8) if options.quick else (4000, 12)
    settings = {"train_bags": bags, "epochs": epochs, "batch": BATCH}
    if kept.get("runs") and kept["settings"] != settings:
        parser.error(f"{options.out} holds runs of other settings, {kept['settings']}")
    runs, times = kept.get("runs", {}), kept.get("times", {})

    def save() -> None:
        keep(options.out, settings=settings, accuracy=table(runs), times=times, runs=runs)

    if options.only != "accuracy":
        times.update(timings(64 if options.quick else 128))
        save()
    if options.only != "time":
        accuracies(runs, bags, epochs, options.workers, save)
        save()
    for name, row in table(runs).items():
        cells = [
            f"{100 * row[task]['mean']:.1f} ± {100 * row[task]['std']:.1f}"
            for task in TASKS
            if task in row
        ]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
