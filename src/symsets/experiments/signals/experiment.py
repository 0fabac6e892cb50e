"""Classification with multiple measurements: which wave is behind 25 noisy copies of it?"""

from dataclasses import replace
from typing import ClassVar

from torch import nn

from symsets.data import LabelledSets
from symsets.experiments.signals.network import MODELS, SignalNetwork, default_widths
from symsets.experiments.signals.sets import Signals
from symsets.experiments.study.experiment import (
    CLASSIFY,
    PATIENCE,
    QUICK,
    SMOKE,
    Experiment,
    Preset,
)

ALL_MODELS = (
    "dss-sum",
    "deepsets",
    "siamese",
    "siamese-ds",
    "mlp",
    "sridhar",
    "aittala",
    "dss-max",
    "deepsets-max",
)
AVERAGE = 0.98  # of the weights, over about 50 steps
PRESETS = {
    "smoke": replace(
        SMOKE,
        models=("dss-sum", "siamese"),
        train_sizes=(300,),
        width=0.1,
        test_size=300,
        batch_size=None,
    ),
    "quick": replace(
        QUICK,
        models=("dss-sum", "deepsets", "siamese", "sridhar"),
        train_sizes=(2000,),
        epochs=(6,),
        width=0.2,
        test_size=1000,
        batch_size=None,
        duration="about two minutes on two cores",
    ),
    "paper": Preset(
        models=ALL_MODELS,
        train_sizes=(30_000, 10_000, 3000, 1000, 300),
        seeds=5,
        epochs=(30, 40, 60, 100, 200),
        published_epochs=200,
        equal_chances=True,
        duration="about an hour on one H200; days on a CPU",
    ),
}


class SignalsExperiment(Experiment[Signals]):
    """Classify 25 measurements of one signal."""

    name = "signals"
    story = (
        "Each set holds 25 noisy copies of one periodic signal: a sine, a square or a\n"
        "sawtooth wave? The noise is three times as strong as the signal, so no copy\n"
        "tells by itself; a network has to bring the copies together, early."
    )
    models = tuple(MODELS)
    presets = PRESETS
    task = CLASSIFY
    plans: ClassVar = {
        "ours": {"average": AVERAGE, "validations": 20},
        "published": {"patience": PATIENCE},
    }

    def open_source(self, data: str, seed: int) -> Signals:
        return Signals(seed=seed)

    def make_sets(
        self, source: Signals, setting: str, split: str, num: int, device: str, seed: int
    ) -> LabelledSets:
        return source.make(split, num, device)

    def make_network(
        self, model: str, recipe: str, width: float, setting: str, source: Signals
    ) -> nn.Module:
        widths = [max(2, round(width * w)) for w in default_widths(model)]
        return SignalNetwork(model, recipe=recipe, widths=widths)


EXPERIMENT = SignalsExperiment()
