"""Are our layers as fast as hand-written code, in anybody's own loop?

Run ``python benchmarks/own_loop.py [--device cuda] [--out FILE]``. The rivals are written by hand
below: one small layer, one block, and a U-Net of the widths of ``colors``. Each figure is the time
of ours over that of the rival in one run (the least disturbed of many interleaved rounds). On a GPU
pictures lie channels-last and networks run in bfloat16; ``compiled`` is ``torch.compile`` with
``mode="reduce-overhead"``, whose gradients are compared with eager float64 first.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from images_step import smooth
from kept import keep
from torch import Tensor, nn

from symsets import DSS, Sequential
from symsets.models import UNet

WIDTHS = (48, 96, 152, 200)


class HandLayer(nn.Module):
    """L1(x_i) + L2(Σ_j x_j / N), normalised, as a user would write it."""

    def __init__(self, i: int, o: int, k: int = 3, pool: str = "mean") -> None:
        super().__init__()
        self.element = nn.Conv2d(i, o, k, padding=k // 2, bias=False)
        self.context = nn.Conv2d(i, o, k, padding=k // 2, bias=False)
        self.norm = nn.BatchNorm2d(o)
        self.pool = pool

    def forward(self, x: Tensor) -> Tensor:  # (B, N, C, H, W)
        B, N = x.shape[:2]
        summary = x.mean(1) if self.pool == "mean" else x.amax(1)
        y = self.element(x.flatten(0, 1)).unflatten(0, (B, N)) + self.context(summary)[:, None]
        return torch.relu(self.norm(y.flatten(0, 1))).unflatten(0, (B, N))


class HandUNet(nn.Module):
    """The U-Net of ``colors`` written by hand."""

    def __init__(self) -> None:
        super().__init__()
        w = WIDTHS
        double = lambda i, o: nn.Sequential(HandLayer(i, o), HandLayer(o, o))  # noqa: E731
        self.encoder = nn.ModuleList(double(i, o) for i, o in zip((3, *w), w, strict=False))
        self.bottleneck = nn.Sequential(*(HandLayer(w[3], w[3], 1, "max") for _ in range(3)))
        outputs = (w[2], w[1], w[1])
        self.decoder = nn.ModuleList(
            double(2 * skip, o) for skip, o in zip(w[:0:-1], outputs, strict=True)
        )
        self.element, self.context = (nn.Conv2d(w[0] + w[1], 3, 1, bias=k) for k in (True, False))

    def forward(self, x: Tensor) -> Tensor:  # (B, N, 3, 64, 64)
        B, N = x.shape[:2]
        skips = []
        for block, window in zip(self.encoder, (2, 2, 2, 8), strict=True):
            x = block(x)
            skips.append(x)
            x = F.max_pool2d(x.flatten(0, 1), window).unflatten(0, (B, N))
        x = self.bottleneck(x)
        for k, scale in enumerate((8, 2, 2, 2)):
            large = F.interpolate(x.flatten(0, 1), scale_factor=scale, mode="bilinear")
            x = torch.cat([large.unflatten(0, (B, N)), skips.pop()], dim=2)
            x = self.decoder[k](x) if k < 3 else x
        y = self.element(x.flatten(0, 1)).unflatten(0, (B, N))
        return y + self.context(x.mean(1))[:, None]


def copy_weights(ours: nn.Module, hand: nn.Module) -> None:
    """Give the rival our weights; both have them in the same order."""
    sources = [t for t in ours.state_dict().values() if t.ndim]
    targets = [t for t in hand.state_dict().values() if t.ndim]
    for source, target in zip(sources, targets, strict=True):
        target.copy_(source)


def ratio(
    ours: Callable[[], object], hand: Callable[[], object], calls: int, rounds: int, device: str
) -> tuple[float, float]:
    """Return the milliseconds of a call of each in the least disturbed of interleaved rounds."""
    times: list[list[float]] = [[], []]
    for _ in range(rounds + 1):
        for step, found in zip((ours, hand), times, strict=True):
            start = time.perf_counter()
            for _ in range(calls):
                step()
            if device != "cpu":
                torch.cuda.synchronize()
            found.append((time.perf_counter() - start) / calls)
    mine, theirs = (1e3 * min(found[1:]) for found in times)
    return mine, theirs


def training(net: nn.Module, x: Tensor, y: Tensor, cast: AbstractContextManager[Any]) -> Any:
    """Return a training step of one's own: forward, backward, AdamW."""
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=x.is_cuda)

    def step() -> None:
        optimiser.zero_grad()
        with cast:
            loss = F.l1_loss(net(x), y)
        loss.backward()
        optimiser.step()

    return step


def inference(net: nn.Module, x: Tensor, cast: AbstractContextManager[Any]) -> Any:
    """Return a prediction."""

    def step() -> Tensor:
        with torch.no_grad(), cast:
            return net(x)

    return step


def gradient_error(net: nn.Module, run: Callable[..., Tensor], x: Tensor, cast: Any) -> float:
    """Return the largest relative error of a gradient of ``run``, which shares weights of ``net``.

    Relative to the norm of the exact gradient, of one that is not negligible.
    """
    exact = copy.deepcopy(net).double()
    target = torch.sin(3 * x)
    (exact(x.double()) - target.double()).square().mean().backward()
    for _ in range(2):  # the first call of a compiled network only warms up
        net.zero_grad()
        with cast:
            loss = (run(x).float() - target).square().mean()
        loss.backward()
    pairs = [
        (p.grad.double(), q.grad) for p, q in zip(net.parameters(), exact.parameters(), strict=True)
    ]
    largest = max(q.norm().item() for _, q in pairs)
    return max(((p - q).norm() / max(q.norm().item(), 1e-2 * largest)).item() for p, q in pairs)


def pairs(device: str) -> Any:
    """Give the names, ours, theirs, and the input of all comparisons."""
    torch.manual_seed(0)
    yield "layer", DSS(nn.Linear(3, 8)), HandLinear(), torch.randn(2, 5, 3)
    conv = nn.Conv2d(16, 16, 3, padding=1, bias=False)
    block = Sequential(DSS(conv, pool="mean"), nn.BatchNorm2d(16), nn.ReLU())
    yield "block", block, HandLayer(16, 16), torch.randn(2, 5, 16, 8, 8)
    if device != "cpu":
        yield "unet", UNet("dss-sum"), HandUNet(), torch.randn(32, 6, 3, 64, 64)


class HandLinear(nn.Module):
    """The layer of the theory on vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.element, self.context = nn.Linear(3, 8), nn.Linear(3, 8, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.element(x) + self.context(x.sum(1)).unsqueeze(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    device, on_gpu = options.device, options.device != "cpu"
    torch.set_num_threads(1 if not on_gpu else torch.get_num_threads())
    rows = []

    def note(name: str, what: str, mine: float, theirs: float, error: float | None = None) -> None:
        rows.append({"what": f"{name}, {what}", "ours_ms": mine, "hand_ms": theirs})
        rows[-1] |= {"ratio": round(mine / theirs, 3), "gradient_error": error}
        said = "" if error is None else f"   gradient error {error:.1e}"
        print(f"{name:6} {what:22} {mine:8.3f} ms, by hand {theirs:8.3f}   "
              f"{mine / theirs:5.2f}{said}", flush=True)  # fmt: skip
        keep(options.out, device=device, rows=rows)

    for name, ours, hand, x in pairs(device):
        small = name != "unet"
        calls, rounds = (20, 200) if small else (10, 8)
        ours, hand, x = (t.to(device) for t in (ours, hand, x))
        copy_weights(ours, hand)
        cast: Any = nullcontext()
        if on_gpu and x.ndim == 5:
            cast = torch.autocast("cuda", torch.bfloat16)
            for net in (ours, hand):
                net.to(memory_format=torch.channels_last)
            x = x.permute(0, 1, 3, 4, 2).contiguous().permute(0, 1, 4, 2, 3)
        error = (ours(x) - hand(x)).abs().max().item()
        assert error < (3e-2 if on_gpu else 1e-4), error  # a GPU rounds convolutions
        one = inference(ours.eval(), x[:1] if not small else x, cast)
        other = inference(hand.eval(), x[:1] if not small else x, cast)
        note(name, "inference", *ratio(one, other, calls, rounds, device))
        ours.train(), hand.train()
        y = torch.randn_like(hand(x))
        steps = [training(net, x, y, cast) for net in (ours, hand)]
        note(name, "training step", *ratio(*steps, calls, rounds, device))
        if small or options.no_compile:
            continue
        smoothed = smooth(copy.deepcopy(ours))  # a kink changes a gradient by a finite amount
        error = gradient_error(smoothed, torch.compile(smoothed, mode="reduce-overhead"), x, cast)
        compiled = [torch.compile(net, mode="reduce-overhead") for net in (ours, hand)]
        steps = [training(net, x, y, cast) for net in compiled]
        note(name, "compiled step", *ratio(*steps, calls, rounds, device), error)


if __name__ == "__main__":
    main()
