"""Selecting the best picture: which of twenty degraded copies is closest to the photograph?"""

from __future__ import annotations

from symsets.data.images import ImageSource
from symsets.experiments.quality.sets import DEGRADATIONS, QualitySets
from symsets.experiments.study.catalogue import image_source
from symsets.experiments.study.experiment import PUBLISHED_MODELS, Preset
from symsets.experiments.study.images import SelectionExperiment, pictures

PRESETS = {
    "smoke": Preset(
        models=("dss-sum", "siamese-ds"),
        train_sizes=(16,),
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


class QualityExperiment(SelectionExperiment[ImageSource]):
    """Select the best of twenty degraded copies of a photograph."""

    name = "quality"
    story = (
        "Each set holds twenty copies of one photograph, blurred and noisy or with\n"
        "pixels lost. Select the one that is closest to the original. Noise hides how\n"
        "sharp a single copy is; beside nineteen others of the same scene it shows."
    )
    presets = PRESETS
    num_elements = 20

    def open_source(self, data: str, seed: int) -> ImageSource:
        """Open photographs by name."""
        return image_source(data, size=80, seed=seed)

    def make_sets(
        self, source: ImageSource, setting: str, split: str, num: int, device: str, seed: int
    ) -> QualitySets:
        """Make degraded copies of the photographs of a split."""
        return QualitySets(pictures(source, split, num, device), num, setting, seed=seed)

    def settings_of(self, source: ImageSource) -> tuple[str, ...]:
        """Return the ways to degrade a photograph."""
        return DEGRADATIONS


EXPERIMENT = QualityExperiment()
