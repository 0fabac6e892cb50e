"""Colour-channel matching: which of six grey pictures belong together, and in which colours?"""

from dataclasses import replace
from typing import ClassVar

from torch.nn.functional import l1_loss

from symsets.data.images import ImageSource
from symsets.experiments.colors.sets import ColorSets, grey
from symsets.experiments.study.experiment import PAPER, QUICK, SMOKE
from symsets.experiments.study.images import UNetExperiment, pictures, unet_plans
from symsets.train.metrics import Metric, Task, mean_absolute_error
from symsets.train.plan import Plan

PRESETS = {
    "smoke": replace(SMOKE, train_sizes=(32,), width=0.125, test_size=16, batch_size=8),
    "quick": replace(
        QUICK,
        train_sizes=(1000,),
        epochs=(6,),
        width=0.125,
        batch_size=4,
        duration="about four minutes on two cores",
    ),
    "paper": replace(
        PAPER, train_sizes=(30_000,), epochs=(14,), published_epochs=50, test_size=3000
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
    size = 64
    output = "transform"
    task = Task(
        l1_loss,
        (Metric("mae", mean_absolute_error(255), larger_is_better=False),),
        keep_outputs=False,
    )
    plans = unet_plans(128, decay=0.4)
    baselines: ClassVar = {"grey": grey}

    def make_sets(
        self, source: ImageSource, setting: str, split: str, num: int, device: str, seed: int
    ) -> ColorSets:
        images = pictures(source, split, num, device, least=2)
        return ColorSets(images, num, size=self.size, seed=seed)

    def make_plan(self, recipe: str, epochs: int, setting: str) -> Plan:
        """Say how a recipe trains: in five stairs, as in the published 50 epochs."""
        plan = super().make_plan(recipe, epochs, setting)
        return replace(plan, decay_every=max(1, epochs // 5)) if plan.decay < 1 else plan

    def settings_of(self, source: ImageSource) -> tuple[str, ...]:
        """Tell from its name which published dataset a source is made of."""
        known = (word for word in ("places", "celeba") if source.name.lower().startswith(word))
        return (next(known, ""),)


EXPERIMENT = ColorsExperiment()
