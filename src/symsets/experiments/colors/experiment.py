"""Colour-channel matching: which of six grey pictures belong together, and in which colours?"""

from __future__ import annotations

from functools import partial
from typing import cast

from torch.nn.functional import l1_loss

from symsets.data.images import ImageSource
from symsets.experiments.colors.sets import ColorSets, grey
from symsets.experiments.study.catalogue import image_source
from symsets.experiments.study.experiment import Experiment, Preset, Source
from symsets.experiments.study.images import PATIENCE, PUBLISHED_MODELS, pictures, unet
from symsets.models._blocks import MODELS
from symsets.train.metrics import Metric, Task, mean_absolute_error
from symsets.train.plan import Plan

__all__ = ["EXPERIMENT"]

SIZE = 64
PRESETS = {
    "smoke": Preset(
        models=("dss-sum", "siamese-ds"),
        train_sizes=(32,),
        seeds=1,
        epochs=(2,),
        width=0.125,
        test_size=16,
        batch_size=8,
        duration="a few seconds",
    ),
    "quick": Preset(
        models=("dss-sum", "siamese-ds"),
        train_sizes=(1000,),
        seeds=1,
        epochs=(6,),
        width=0.125,
        test_size=64,
        batch_size=4,
        duration="about four minutes on two cores",
    ),
    "paper": Preset(
        models=PUBLISHED_MODELS,
        train_sizes=(30_000,),
        seeds=3,
        epochs=(14,),
        published_epochs=50,
        duration="hours on one GPU (never timed as a whole)",
    ),
}


def make_plan(recipe: str, epochs: int, setting: str) -> Plan:
    """Return how a recipe trains."""
    if recipe == "ours":
        return Plan(epochs, batch_size=32, schedule="cosine", evaluation_batch=128)
    return Plan(
        epochs,
        batch_size=32,
        schedule="staircase",
        decay=0.4,
        decay_every=max(1, epochs // 5),  # five stairs, as in the published 50 epochs
        patience=PATIENCE,
        evaluation_batch=128,
    )


def make_sets(
    source: ImageSource, setting: str, split: str, num: int, device: str, seed: int
) -> ColorSets:
    """Make the sets of a split, of two photographs each."""
    images = pictures(source, split, num, device, least=2)
    return ColorSets(images, num, size=SIZE, seed=seed)


def settings_of(source: Source) -> tuple[str, ...]:
    """Tell from its name which published dataset a source is made of."""
    known = (word for word in ("places", "celeba") if source.name.lower().startswith(word))
    return (next(known, ""),)


EXPERIMENT = Experiment(
    name="colors",
    network="unet",
    story=(
        "Each set holds six pictures: the red, green and blue channels\n"
        "of two photographs, shuffled. Give every one its colours\n"
        "back. A network that looks at one channel at a time can only\n"
        "guess; one whose elements meet early finds the two partners."
    ),
    models=MODELS,
    presets=PRESETS,
    task=Task(
        l1_loss,
        (Metric("mae", mean_absolute_error(255), larger_is_better=False),),
        keep_outputs=False,
    ),
    make_network=partial(unet, SIZE, "transform", 6),
    make_plan=make_plan,
    open_source=lambda data, seed: cast(Source, image_source(data, size=80, seed=seed)),
    make_sets=make_sets,
    settings_of=settings_of,
    baselines={"grey": grey},
    default_data="embedded",
)
