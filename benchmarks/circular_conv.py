"""How much faster is a circular convolution through the spectrum, and does "auto" know?

One training step (forward and backward) of each method on the same input, the methods taking turns
so that a busy machine slows all of them; medians. The last line is the second layer of the signals
network of Maron et al. (2020): full-length kernel, 16 sets of 25 signals.

    python benchmarks/circular_conv.py [--quick] [--device cuda]
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import product
from statistics import median

import torch
from torch import Tensor

from symsets.nn.circular import CircularConv1d, CircularConv2d, SymmetryWarning

METHODS = ("direct", "spectral", "auto")
HEADLINE = (400, 160, 160, (50,), 50, 2)
QUICK = [
    (64, 64, 64, (50,), 3, 1),
    (64, 64, 64, (50,), 25, 1),
    (8, 16, 16, (16, 16), 3, 1),
    (8, 16, 16, (16, 16), 15, 1),
]
# batch, in_channels, out_channels, size, kernel_size, stride
GRID = [
    *(
        (64, c, c, (n,), k, s)
        for n, c, k, s in product((50, 100, 256), (8, 64, 160), (3, 9, 25), (1, 2))
    ),
    *((16, 160, 160, (n,), n, 2) for n in (25, 50, 100)),
    *((batch, 64, 64, (100,), 25, 1) for batch in (1, 4, 16)),
    (400, 1, 160, (100,), 100, 2),
    *((8, c, c, (n, n), k, s) for n, c, k, s in product((16, 32), (16, 64), (3, 7, 15), (1, 2))),
    (8, 32, 32, (32, 32), 32, 1),
]


def step_seconds(layer: CircularConv1d | CircularConv2d, x: Tensor, seed: Tensor) -> float:
    if x.is_cuda:
        torch.cuda.synchronize()
    start = time.perf_counter()
    torch.autograd.grad(layer(x), [x, *layer.parameters()], seed)
    if x.is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def measure(
    case: tuple[int, int, int, tuple[int, ...], int, int], device: str, seconds: float
) -> dict[str, float]:
    batch, in_channels, out_channels, size, kernel_size, stride = case
    kind = CircularConv1d if len(size) == 1 else CircularConv2d
    x = torch.randn(batch, in_channels, *size, device=device, requires_grad=True)
    layers = {
        method: kind(in_channels, out_channels, kernel_size, stride=stride, method=method).to(
            device
        )
        for method in METHODS
    }
    seed = torch.randn_like(layers["direct"](x))
    for layer in layers.values():
        step_seconds(layer, x, seed)
    times: dict[str, list[float]] = {method: [] for method in METHODS}
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline or len(times["auto"]) < 5:
        for method, layer in layers.items():
            times[method].append(step_seconds(layer, x, seed))
    return {method: 1e3 * median(values) for method, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few sizes only")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    warnings.simplefilter("ignore", SymmetryWarning)
    torch.manual_seed(0)

    print(f"torch {torch.__version__}, {options.device}, {torch.get_num_threads()} threads; ms")
    print(f"{'batch':>5} {'in':>4} {'out':>4} {'size':>7} {'k':>3} {'s':>2}", end="")
    print("".join(f"{method:>10}" for method in METHODS) + f"{'ratio':>8}")
    lost = []
    for case in [*(QUICK if options.quick else GRID), HEADLINE]:
        ms = measure(case, options.device, 0.2 if options.quick else 0.5)
        batch, in_channels, out_channels, size, kernel_size, stride = case
        shape = "x".join(map(str, size))
        print(
            f"{batch:5} {in_channels:4} {out_channels:4} {shape:>7} {kernel_size:3} {stride:2}",
            end="",
        )
        ratio = ms["direct"] / ms["spectral"]
        print("".join(f"{ms[method]:10.2f}" for method in METHODS) + f"{ratio:8.2f}", flush=True)
        lost.append(ms["auto"] / min(ms.values()))
    print(f"auto over the fastest: median {median(lost):.2f}, worst {max(lost):.2f}")
    print(f"full-length kernel, 160 -> 160, L = 50, stride 2: spectral is {ratio:.1f} times faster")


if __name__ == "__main__":
    main()
