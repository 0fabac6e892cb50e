"""Selecting the best picture: which of twenty degraded copies is closest to the photograph?"""

from dataclasses import replace

from symsets.data.images import ImageSource
from symsets.experiments.quality.sets import DEGRADATIONS, QualitySets
from symsets.experiments.study.experiment import PAPER, QUICK, SMOKE
from symsets.experiments.study.images import SelectionExperiment, pictures

PRESETS = {
    "smoke": replace(SMOKE, settings=("gaussian-30",)),
    "quick": replace(QUICK, train_sizes=(240,), epochs=(4,), settings=("gaussian-30",)),
    "paper": PAPER,
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
    settings = DEGRADATIONS
    num_elements = 20

    def make_sets(
        self, source: ImageSource, setting: str, split: str, num: int, device: str, seed: int
    ) -> QualitySets:
        return QualitySets(pictures(source, split, num, device), num, setting, seed=seed)


EXPERIMENT = QualityExperiment()
