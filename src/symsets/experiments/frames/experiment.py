"""Selecting the first frame: which of eight shuffled frames of a video came first?"""

from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from symsets.data.clips import VideoSource
from symsets.experiments.frames.metrics import TASK, farthest_from_mean
from symsets.experiments.frames.sets import FrameSets
from symsets.experiments.study.experiment import PAPER, QUICK, SMOKE
from symsets.experiments.study.images import SelectionExperiment

MOST_SOURCES = 12  # that are reported one by one
PRESETS = {
    "smoke": SMOKE,
    "quick": replace(
        QUICK, train_sizes=(400,), epochs=(6,), duration="about five minutes on two cores"
    ),
    "paper": PAPER,
}


class FramesExperiment(SelectionExperiment[VideoSource]):
    """Select the first of eight frames."""

    name = "frames"
    story = (
        "Each set holds eight frames of a video, shuffled. Which came first? No frame\n"
        "knows by itself; differences between frames tell how things moved, and in which\n"
        "direction time runs."
    )
    presets = PRESETS
    num_elements = 8
    data_kind = "videos"
    task = TASK
    baselines: ClassVar = {"farthest": farthest_from_mean}

    def make_sets(
        self, source: VideoSource, setting: str, split: str, num: int, device: str, seed: int
    ) -> FrameSets:
        return FrameSets(source.clips(split, num, device), num, seed=seed)

    def targets_by_name(self, targets: Tensor) -> dict[str, Tensor]:
        """Return which frame is to be selected, and which is the last."""
        return {"target": targets[:, 0], "last": targets[:, 1]}

    def parts_of(self, sets: FrameSets) -> dict[str, Tensor]:
        """Return the sets of every source of clips, if these are few enough for a table."""
        names = [sets.source_of(which) for which in range(sets.num_sets)]
        sources = sorted(set(names))
        if not 1 < len(sources) <= MOST_SOURCES:
            return {}
        return {source: torch.tensor([name == source for name in names]) for source in sources}


EXPERIMENT = FramesExperiment()
