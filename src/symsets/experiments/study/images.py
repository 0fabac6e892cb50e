"""What the four experiments on sets of images share: networks, training, pictures."""

from functools import lru_cache, partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from symsets.data.images import ImageFiles, ImageSource
from symsets.experiments.study.catalogue import open_data
from symsets.experiments.study.experiment import CLASSIFY, PATIENCE, Experiment, SourceT, scaled
from symsets.models._blocks import MODELS, RECIPES, default_widths
from symsets.models.restoring import WIDTHS, RestoringNetwork
from symsets.models.selection import WIDTHS as SELECTION_WIDTHS
from symsets.models.selection import SelectionNetwork
from symsets.models.unet import WIDTHS as UNET_WIDTHS
from symsets.models.unet import UNet

BATCHES = {"batch_size": 16, "evaluation_batch": 64}


class ImageExperiment(Experiment[SourceT]):
    """An experiment on sets of pictures.

    Attributes:
        num_elements: Pictures in a set.
        data_kind: ``"images"`` or ``"videos"``.
        source_size: Height and width of the pictures that the source gives.
    """

    models = MODELS
    default_data = "embedded"
    num_elements: int
    data_kind = "images"
    source_size = 80

    def open_source(self, data: str, seed: int) -> SourceT:
        return open_data(self.data_kind, data, size=self.source_size, seed=seed)


class SelectionExperiment(ImageExperiment[SourceT]):
    """Select one picture of a set."""

    task = CLASSIFY
    plans: ClassVar = {  # at 1e-3 scores collapsed (in a first head)
        "ours": {"learning_rate": 3e-4, "clip": 1.0, **BATCHES},
        "published": {"learning_rate": 1e-4, "patience": PATIENCE, **BATCHES},
    }

    def make_network(
        self, model: str, recipe: str, width: float, setting: str, source: SourceT
    ) -> nn.Module:
        blocks = default_widths(SELECTION_WIDTHS, model, recipe)
        widths = [scaled(block, width) for block in blocks]
        num = self.num_elements
        network = SelectionNetwork(model, recipe=recipe, widths=widths, num_elements=num)
        return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


class UNetExperiment(ImageExperiment[ImageSource]):
    """Make pictures of a set of pictures: one of each element, or one of all.

    Attributes:
        size: Height and width of the pictures.
        output: ``"transform"``, a picture of each element, or ``"merge"``, one of all.
    """

    recipes = (*RECIPES, "modern")
    size: int
    output: str

    def make_network(
        self, model: str, recipe: str, width: float, setting: str, source: ImageSource
    ) -> nn.Module:
        if recipe == "modern":
            wide = WIDTHS[self.output].get(model, WIDTHS[self.output]["dss"])
            make: Any = partial(RestoringNetwork, channels=scaled(wide, width))
        else:
            full: tuple[int, ...] = default_widths(UNET_WIDTHS[self.size], model, recipe)
            make = partial(UNet, size=self.size, recipe=recipe, widths=scaled(full, width))
        network: nn.Module = make(model, task=self.output, num_elements=self.num_elements)
        return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def unet_plans(evaluation_batch: int, **published: float) -> dict[str, dict[str, Any]]:
    """Return how each recipe of a :class:`UNetExperiment` trains, and what is published besides."""
    batches = {"batch_size": 32, "evaluation_batch": evaluation_batch}
    stairs = {"schedule": "staircase", "patience": PATIENCE, **published}
    modern = {"learning_rate": 5e-4, "weight_decay": 1e-3, "clip": 1.0}
    return {"ours": batches, "modern": batches | modern, "published": batches | stairs}


@lru_cache(maxsize=3)
def pictures(source: ImageSource, split: str, num: int, device: str, *, least: int = 1) -> Tensor:
    """Return up to ``num`` pictures of a split, at least ``least``; they are read only once."""
    if isinstance(source, ImageFiles):
        return source.images(split, max(num, least), device, least=least)
    return source.images(split, max(num, least), device)
