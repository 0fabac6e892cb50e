"""Training steps to be timed: what the benchmarks of whole steps have in common."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from symsets.data.labelled import SetDataset
from symsets.train.ensemble import Ensemble
from symsets.train.metrics import Loss
from symsets.train.step import CapturedSteps, EagerSteps, LossScale, matmul_precision

__all__ = ["make_steps", "milliseconds", "run"]


def make_steps(
    networks: Sequence[nn.Module],
    data: SetDataset,
    loss: Loss,
    precision: str,
    *,
    captured: bool,
) -> EagerSteps:
    """Return the steps of networks that train together, as ``symsets run`` takes them."""
    ensemble = Ensemble(networks).to(data.device)
    on_gpu = data.device.type == "cuda"
    rate = torch.tensor(0.0, device=data.device) if on_gpu else 0.0  # every step has its own
    optimiser = torch.optim.AdamW(ensemble.parameters(), lr=rate, fused=on_gpu, capturable=on_gpu)
    kind = CapturedSteps if captured else EagerSteps
    scale = LossScale(len(networks)).to(data.device) if precision == "float16" else None
    return kind(ensemble, optimiser, data, loss, precision, scale=scale)


def run(steps: EagerSteps, order: Tensor, rate: float) -> None:
    """Take the steps ``order (S, K, B)``, and wait for them."""
    with matmul_precision(steps.precision):
        steps.run(order, torch.full((len(order),), rate, device=order.device))
    if order.is_cuda:
        torch.cuda.synchronize()


def milliseconds(steps: Sequence[EagerSteps], order: Tensor, rounds: int) -> list[float]:
    """Return the median time of a step of each, in interleaved rounds; the first warms up."""
    times: list[list[float]] = [[] for _ in steps]
    for _ in range(rounds + 1):
        for one, found in zip(steps, times, strict=True):
            start = time.perf_counter()
            run(one, order, 1e-4)
            found.append((time.perf_counter() - start) / len(order))
    return [1e3 * statistics.median(found[1:]) for found in times]
