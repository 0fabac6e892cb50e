"""Batch statistics of weights that were not trained themselves, such as averages."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from symsets.train.ensemble import Ensemble


@torch.no_grad()
def refresh_statistics(ensemble: Ensemble, batches: Iterable[Tensor]) -> None:
    """Set the running statistics of batch normalisation to those of some batches.

    The statistics gathered while weights changed fit no weights in particular; networks whose
    context is summed over a set feel it, and their validation curves swing.

    Args:
        ensemble: What to refresh, in place.
        batches: Inputs ``(K, B, …)``; the statistics are their mean.
    """
    norms = [m for m in ensemble.template.modules() if isinstance(m, _BatchNorm)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = ensemble.training
    ensemble.train()
    for seen, x in enumerate(batches, start=1):
        for norm in norms:
            norm.momentum = 1 / seen  # a plain mean of all batches
        ensemble(x)
    ensemble.train(was_training)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
