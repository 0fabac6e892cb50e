"""How much slower is training from a folder of photographs than from memory?

Run ``python benchmarks/folder_speed.py [--data FOLDER] [--out FILE]``. A folder of 2,000 sets of 3
to 8 JPEG files of 128 to 256 pixels is written to a temporary place, cut out of photographs. The
same small DSS network is then trained on it in a plain loop: from the files (``streamed``), from
the cache of ``SetFolder`` once it is filled (``cached``), and from tensors in memory. Rounds are
interleaved, and each figure is that of the best round. ``share`` is the speed relative to memory;
memory is that of all processes together (what they share counted once) before anything is loaded
whole. ``read`` is the speed of the workers alone.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import threading
import time
from collections.abc import Iterable
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from kept import keep
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader

from symsets import DSS, Sequential, collate
from symsets.data import SetFolder
from symsets.experiments.study.catalogue import image_source
from symsets.nn import Classify

CLASSES = 4


def write_folder(root: Path, num_sets: int, data: str) -> None:
    """Write sets of cuts of one photograph each; its number decides the class."""
    draw = random.Random(0)
    photos = image_source(data, size=256).images("train", 64)
    for k in range(num_sets):
        photo = draw.randrange(len(photos))
        folder = root / str(photo % CLASSES) / f"{k:04}"
        folder.mkdir(parents=True)
        for j in range(draw.randint(3, 8)):
            width, height = draw.randint(128, 256), draw.randint(128, 256)
            left, top = draw.randint(0, 256 - width), draw.randint(0, 256 - height)
            cut = photos[photo, :, top : top + height, left : left + width]
            Image.fromarray(cut.permute(1, 2, 0).numpy()).save(folder / f"{j}.jpg", quality=90)


def network(width: int) -> nn.Module:
    def block(i: int, o: int, stride: int) -> list[nn.Module]:
        return [DSS(nn.Conv2d(i, o, 3, stride=stride, padding=1), pool="mean"), nn.ReLU()]

    return Sequential(
        *block(3, width, 2),
        *block(width, 2 * width, 2),
        *block(2 * width, 4 * width, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        Classify(4 * width, CLASSES),
    )


def train(net: nn.Module, batches: Iterable[Any]) -> float:
    """Train for an epoch; return sets per second."""
    optimiser = torch.optim.Adam(net.parameters(), 1e-3)
    num, start = 0, time.perf_counter()
    for x, y in batches:
        optimiser.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimiser.step()
        num += len(y)
    return num / (time.perf_counter() - start)


def read(batches: Iterable[Any]) -> float:
    """Read an epoch; return sets per second."""
    num, start = 0, time.perf_counter()
    for _, y in batches:
        num += len(y)
    return num / (time.perf_counter() - start)


class MemoryWatch:
    """The largest memory of this process and its children while it is watched, in bytes."""

    def __enter__(self) -> MemoryWatch:
        self.most, self.done = 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self) -> None:
        while not self.done.wait(0.2):
            self.most = max(self.most, sum(map(memory_of, ["self", *children()])))

    def __exit__(self, *error: object) -> None:
        self.done.set()
        self.thread.join()


def children() -> set[str]:
    tasks = Path("/proc/self/task").iterdir()
    return {child for task in tasks for child in (task / "children").read_text().split()}


def memory_of(process: str) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def measure(root: Path, args: argparse.Namespace) -> dict[str, float]:
    start = time.perf_counter()
    sets = SetFolder(root, size=args.size)
    opened = time.perf_counter() - start
    print(sets)
    cached = SetFolder(root, size=args.size, cache=True)
    net = network(args.width)
    chosen = torch.randperm(len(sets))[: args.per_round].tolist()

    def workers(sets: SetFolder) -> DataLoader[Any]:
        return DataLoader(
            sets, args.batch, shuffle=True, num_workers=args.workers, collate_fn=collate
        )

    with MemoryWatch() as memory:
        train(net, islice(workers(sets), args.memory_steps))
    print(f"opened in {opened:.1f} s, memory {memory.most / 2**20:,.0f} MB", flush=True)
    sets, cached = sets.subset(chosen), cached.subset(chosen)
    fills = train(net, workers(cached))
    whole = sets.in_memory()
    loaders = {
        "memory": lambda: DataLoader(whole, args.batch, shuffle=True, collate_fn=collate),
        "streamed": lambda: workers(sets),
        "cached": lambda: workers(cached),
        "cached, no workers": lambda: DataLoader(
            cached, args.batch, shuffle=True, collate_fn=collate
        ),
    }
    best = dict.fromkeys(loaders, 0.0)
    for _ in range(args.rounds):
        for name, loader in loaders.items():
            best[name] = max(best[name], train(net, loader()))
    reading = {"read": read(workers(sets)), "read, cached": read(workers(cached))}
    for name, speed in {**best, "filling the cache": fills, **reading}.items():
        print(f"{name:18} {speed:7.0f} sets/s   share {speed / best['memory']:.2f}")
    return {"opened": opened, "megabytes": memory.most / 2**20, "filling": fills, **best, **reading}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="embedded", help="a folder of photographs, or a pack")
    parser.add_argument("--sets", type=int, default=2000)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory-steps", type=int, help="steps while memory is watched")
    parser.add_argument("--per-round", type=int, help="sets of a round; all if left out")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        arguments = (Path(place) / "photos", args.sets, args.data)
        writer = get_context("spawn").Process(target=write_folder, args=arguments)
        writer.start()  # a process of its own, so that its memory is not counted
        writer.join()
        speeds = measure(Path(place) / "photos", args)
    keep(args.out, sets=args.sets, size=args.size, width=args.width, speeds=speeds)


if __name__ == "__main__":
    main()
