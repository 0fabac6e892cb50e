"""A running average of weights, with batch statistics that belong to it."""

import copy
from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from symsets.train.ensemble import Ensemble


class Average:
    """A copy of an ensemble that follows its weights slowly: each update keeps a share of it."""

    def __init__(self, ensemble: Ensemble, keep: float) -> None:
        self.ensemble = copy.deepcopy(ensemble).requires_grad_(False)
        self.keep = keep
        pairs = list(zip(ensemble.parameters(), self.ensemble.parameters(), strict=True))
        self._values: list[Tensor] = [value for value, _ in pairs if value.requires_grad]
        self._means: list[Tensor] = [mean for value, mean in pairs if value.requires_grad]
        self._buffers = list(zip(ensemble.buffers(), self.ensemble.buffers(), strict=True))

    @torch.no_grad()
    def update(self) -> None:
        """Move the average towards the weights."""
        torch._foreach_lerp_(self._means, self._values, 1 - self.keep)

    def refresh(self, batches: Iterable[Tensor]) -> None:
        """Take over all buffers, then the batch statistics of some batches."""
        for value, mean in self._buffers:
            mean.copy_(value)
        refresh_statistics(self.ensemble, batches)


@torch.no_grad()
def refresh_statistics(ensemble: Ensemble, batches: Iterable[Tensor]) -> None:
    """Set the running statistics of batch normalisation to those of some batches.

    The statistics gathered while weights changed fit no weights in particular; networks whose
    context is summed over a set feel it, and their validation curves swing. ``batches`` are inputs
    ``(K, B, …)``.
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
