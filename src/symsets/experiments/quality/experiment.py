"""Selecting the best picture: which of twenty degraded copies is closest to the photograph?"""

from __future__ import annotations

from functools import partial
from typing import cast

from symsets.data.images import ImageSource
from symsets.experiments.quality.sets import DEGRADATIONS, QualitySets
from symsets.experiments.study.catalogue import image_source
from symsets.experiments.study.experiment import Experiment, Preset, Source
from symsets.experiments.study.images import (
    PUBLISHED_MODELS,
    SELECT,
    SELECTION_RATES,
    pictures,
    selection_network,
    selection_plan,
)
from symsets.models._blocks import MODELS

__all__ = ["EXPERIMENT"]

NUM_ELEMENTS = 20
PRESETS = {
    "smoke": Preset(
        models=("dss-sum", "siamese-ds"),
        train_sizes=(16,),
        seeds=1,
        epochs=(2,),
        width=0.25,
        test_size=8,
        batch_size=4,
        settings=("gaussian-30",),
        duration="a few seconds",
    ),
    "quick": Preset(
        models=("dss-sum", "siamese-ds"),
        train_sizes=(240,),
        seeds=1,
        epochs=(4,),
        width=0.25,
        test_size=64,
        batch_size=8,
        settings=("gaussian-30",),
        duration="about three minutes on two cores",
    ),
    "paper": Preset(
        models=PUBLISHED_MODELS,
        train_sizes=(20_000,),
        seeds=3,
        epochs=(6,),
        published_epochs=200,
        test_size=2000,
        duration="hours on one GPU (never timed as a whole)",
    ),
}


def make_sets(
    source: ImageSource, setting: str, split: str, num: int, device: str, seed: int
) -> QualitySets:
    """Make the sets of a split."""
    return QualitySets(pictures(source, split, num, device), num, setting, seed=seed)


EXPERIMENT = Experiment(
    name="quality",
    network="selection",
    story=(
        "Each set holds twenty copies of one photograph, blurred and noisy or with\n"
        "pixels lost. Select the one that is closest to the original. Noise hides how\n"
        "sharp a single copy is; beside nineteen others of the same scene it shows."
    ),
    models=MODELS,
    presets=PRESETS,
    task=SELECT,
    make_network=partial(selection_network, NUM_ELEMENTS),
    make_plan=selection_plan,
    open_source=lambda data, seed: cast(Source, image_source(data, size=80, seed=seed)),
    make_sets=make_sets,
    learning_rates=SELECTION_RATES,
    settings_of=lambda source: DEGRADATIONS,
    default_data="embedded",
)
