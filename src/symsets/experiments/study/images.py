"""What the four experiments on sets of images share: networks, training, pictures."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor, nn

from symsets.data.images import ImageFiles, ImageSource
from symsets.experiments.study.catalogue import image_source
from symsets.experiments.study.experiment import (
    CLASSIFY,
    PATIENCE,
    Experiment,
    SourceT,
    scaled,
)
from symsets.models._blocks import MODELS, default_widths
from symsets.models.selection import WIDTHS as SELECTION_WIDTHS
from symsets.models.selection import SelectionNetwork
from symsets.models.unet import WIDTHS as UNET_WIDTHS
from symsets.models.unet import UNet
from symsets.train.plan import Plan

__all__ = ["SelectionExperiment", "UNetExperiment", "pictures"]


class SelectionExperiment(Experiment[SourceT]):
    """Select one image of a set.

    Attributes:
        num_elements: Images in a set.
    """

    network = "selection"
    models = MODELS
    task = CLASSIFY
    default_data = "embedded"
    num_elements: int

    def make_network(
        self, model: str, recipe: str, width: float, setting: str, source: SourceT
    ) -> nn.Module:
        """Make a network that gives every image a score."""
        blocks = default_widths(SELECTION_WIDTHS, model, recipe)
        network = SelectionNetwork(
            model,
            recipe=recipe,
            widths=[scaled(block, width) for block in blocks],
            num_elements=self.num_elements,
        )
        return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def make_plan(self, recipe: str, epochs: int, setting: str) -> Plan:
        """Say how a recipe trains."""
        ours = recipe == "ours"
        return Plan(
            epochs,
            batch_size=16,
            schedule="cosine" if ours else "constant",
            clip=1.0 if ours else 0.0,
            patience=1000 if ours else PATIENCE,
            evaluation_batch=64,
        )

    def learning_rate(self, recipe: str) -> float:
        """Return the learning rate if a user gives none."""
        return 3e-4 if recipe == "ours" else 1e-4  # at 1e-3 scores collapsed (in a first head)


class UNetExperiment(Experiment[ImageSource]):
    """Make pictures of a set of pictures: one of each element, or one of all.

    Attributes:
        num_elements: Pictures in a set.
        size: Height and width of the pictures.
        source_size: Height and width of those that the source gives.
        output: ``"transform"``, a picture of each element, or ``"merge"``, one of all.
    """

    network = "unet"
    models = MODELS
    default_data = "embedded"
    num_elements: int
    size: int
    source_size: int
    output: str

    def open_source(self, data: str, seed: int) -> ImageSource:
        """Open photographs by name."""
        return image_source(data, size=self.source_size, seed=seed)

    def make_network(
        self, model: str, recipe: str, width: float, setting: str, source: ImageSource
    ) -> nn.Module:
        """Make a U-Net."""
        channels: tuple[int, ...] = default_widths(UNET_WIDTHS[self.size], model, recipe)
        network = UNet(
            model,
            size=self.size,
            recipe=recipe,
            widths=scaled(channels, width),
            task=self.output,
            num_elements=self.num_elements,
        )
        return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


@lru_cache(maxsize=3)
def pictures(source: ImageSource, split: str, num: int, device: str, *, least: int = 1) -> Tensor:
    """Return up to ``num`` pictures of a split, at least ``least``; they are read only once."""
    if isinstance(source, ImageFiles):
        return source.images(split, max(num, least), device, least=least)
    return source.images(split, max(num, least), device)
