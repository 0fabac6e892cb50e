"""Networks of timm, lifted to sets."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, nn

from symsets._extras import require
from symsets.lift import lift
from symsets.lift.network import Lifted
from symsets.nn import Sequential


def timm_trunk(name: str, channels: int, scheme: str) -> tuple[Sequential, int]:
    """Return a network of timm with random weights, and the length of its vectors."""
    model = _create(name, channels, pretrained=False)
    return Sequential(Standardise(model, channels), lift(model, scheme)), int(model.num_features)


def load_pretrained(trunk: nn.Module, name: str, channels: int) -> None:
    """Give a trunk the trained weights of timm, or warn that there are none."""
    try:
        model = _create(name, channels, pretrained=True)
    except Exception as error:
        warnings.warn(
            f"no trained weights of {name} could be had ({error}): they are random", stacklevel=3
        )
        return
    lifted = next(part for part in trunk.modules() if isinstance(part, Lifted))
    lifted.load_element_state_dict(model.state_dict())


def _create(name: str, channels: int, *, pretrained: bool) -> Any:
    timm = require("timm", "vision")
    return timm.create_model(name, pretrained=pretrained, num_classes=0, in_chans=channels)


class Standardise(nn.Module):
    """Give pictures in [0, 1] the mean and deviation that a network of timm was trained with."""

    mean: Tensor
    std: Tensor

    def __init__(self, model: nn.Module, channels: int) -> None:
        super().__init__()
        known: Any = getattr(model, "pretrained_cfg", None) or {}
        for name in ("mean", "std"):
            values = torch.tensor(known.get(name, (0.5,)))
            if len(values) != channels:
                values = values.mean().expand(channels)
            self.register_buffer(name, values.reshape(-1, 1, 1).clone())

    def forward(self, x: Tensor) -> Tensor:
        """Standardise ``(T, C, H, W)``."""
        return (x - self.mean) / self.std
