"""Colour-channel matching: which of six grey pictures belong together, and in which colours?"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from torch.nn.functional import l1_loss

from symsets.data.images import ImageSource
from symsets.experiments.colors.sets import ColorSets, grey
from symsets.experiments.study.experiment import PATIENCE, PUBLISHED_MODELS, Preset
from symsets.experiments.study.images import UNetExperiment, pictures
from symsets.train.metrics import Metric, Task, mean_absolute_error
from symsets.train.plan import Plan

PRESETS = {
    "smoke": Preset(
        models=("dss-sum", "siamese-ds"),
        train_sizes=(32,),
        epochs=(2,),
        width=0.125,
        test_size=16,
        batch_size=8,
        duration="a few seconds",
    ),
    "quick": Preset(
        models=("dss-sum", "siamese-ds"),
        train_sizes=(1000,),
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


class ColorsExperiment(UNetExperiment):
    """Give six grey pictures their colours back."""

    name = "colors"
    story = (
        "Each set holds six pictures: the red, green and blue channels\n"
        "of two photographs, shuffled. Give every one its colours\n"
        "back. A network that looks at one channel at a time can only\n"
        "guess; one whose elements meet early finds the two partners."
    )
    presets = PRESETS
    num_elements = 6
    size, source_size = 64, 80
    output = "transform"
    task = Task(
        l1_loss,
        (Metric("mae", mean_absolute_error(255), larger_is_better=False),),
        keep_outputs=False,
    )
    baselines: ClassVar = {"grey": grey}

    def make_sets(
        self, source: ImageSource, setting: str, split: str, num: int, device: str, seed: int
    ) -> ColorSets:
        """Make sets of two photographs each."""
        images = pictures(source, split, num, device, least=2)
        return ColorSets(images, num, size=self.size, seed=seed)

    def make_plan(self, recipe: str, epochs: int, setting: str) -> Plan:
        """Say how a recipe trains."""
        plan = Plan(epochs, batch_size=32, schedule="cosine", evaluation_batch=128)
        if recipe == "ours":
            return plan
        stairs = max(1, epochs // 5)  # five stairs, as in the published 50 epochs
        return replace(plan, schedule="staircase", decay=0.4, decay_every=stairs, patience=PATIENCE)

    def settings_of(self, source: ImageSource) -> tuple[str, ...]:
        """Tell from its name which published dataset a source is made of."""
        known = (word for word in ("places", "celeba") if source.name.lower().startswith(word))
        return (next(known, ""),)


EXPERIMENT = ColorsExperiment()
