"""What the four experiments on sets of images have in common."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from symsets.data.images import ImageFiles, ImageSource
from symsets.models._blocks import default_widths
from symsets.models.selection import WIDTHS as SELECTION_WIDTHS
from symsets.models.selection import SelectionNetwork
from symsets.models.unet import WIDTHS as UNET_WIDTHS
from symsets.models.unet import UNet
from symsets.train.metrics import ACCURACY, Task
from symsets.train.plan import Plan

__all__ = [
    "PATIENCE",
    "PUBLISHED_MODELS",
    "SELECT",
    "SELECTION_RATES",
    "pictures",
    "scaled",
    "selection_network",
    "selection_plan",
    "unet",
]

PUBLISHED_MODELS = ("siamese-ds", "dss-sum", "dss-max", "sridhar", "aittala")
PATIENCE = 20  # epochs of recipe published; the paper stops early but does not say how
SELECT = Task(cross_entropy, (ACCURACY,))  # scores of a set are the scores of as many classes
SELECTION_RATES = {"ours": 3e-4, "published": 1e-4}  # at 1e-3 scores collapsed (in a first head)


def scaled(channels: Sequence[int], width: float) -> list[int]:
    """Return a fraction of some numbers of channels, in multiples of eight.

    Example:
        >>> scaled([48, 100, 200], 0.25), scaled([50], 1)
        ([16, 24, 48], [50])
    """
    return [c if width == 1 else max(8, 8 * round(width * c / 8)) for c in channels]


def selection_network(
    num_elements: int, model: str, recipe: str, width: float, setting: str, source: object
) -> torch.nn.Module:
    """Return a freshly initialised network that selects, laid out as GPUs like it."""
    blocks = default_widths(SELECTION_WIDTHS, model, recipe)
    network = SelectionNetwork(
        model,
        recipe=recipe,
        widths=[scaled(block, width) for block in blocks],
        num_elements=num_elements,
    )
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def unet(
    size: int,
    task: str,
    num_elements: int,
    model: str,
    recipe: str,
    width: float,
    setting: str,
    source: object,
) -> torch.nn.Module:
    """Return a freshly initialised U-Net, its weights stored as GPUs like them best."""
    channels: tuple[int, ...] = default_widths(UNET_WIDTHS[size], model, recipe)
    network = UNet(
        model,
        size=size,
        recipe=recipe,
        widths=scaled(channels, width),
        task=task,
        num_elements=num_elements,
    )
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def selection_plan(recipe: str, epochs: int, setting: str) -> Plan:
    """Return how selection is trained."""
    ours = recipe == "ours"
    return Plan(
        epochs,
        batch_size=16,
        schedule="cosine" if ours else "constant",
        clip=1.0 if ours else 0.0,
        patience=1000 if ours else PATIENCE,
        evaluation_batch=64,
    )


@lru_cache(maxsize=3)
def pictures(source: ImageSource, split: str, num: int, device: str, *, least: int = 1) -> Tensor:
    """Return up to ``num`` pictures of a split, read once, and ``least`` of them in any case."""
    if isinstance(source, ImageFiles):
        return source.images(split, max(num, least), device, least=least)
    return source.images(split, max(num, least), device)
