"""Selecting the first frame: which of eight shuffled frames of a video came first?"""

from __future__ import annotations

import torch
from torch import Tensor

from symsets.data.clips import VideoSource
from symsets.experiments.frames.sets import FrameSets
from symsets.experiments.study.catalogue import video_source
from symsets.experiments.study.experiment import PUBLISHED_MODELS, Preset
from symsets.experiments.study.images import SelectionExperiment

MOST_SOURCES = 12  # that are reported one by one
PRESETS = {
    "smoke": Preset(
        models=("dss-sum", "siamese-ds"),
        train_sizes=(16,),
        epochs=(2,),
        width=0.25,
        test_size=8,
        batch_size=4,
        duration="a few seconds",
    ),
    "quick": Preset(
        models=("dss-sum", "siamese-ds"),
        train_sizes=(400,),
        epochs=(6,),
        width=0.25,
        test_size=64,
        batch_size=8,
        duration="about five minutes on two cores",
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

    def open_source(self, data: str, seed: int) -> VideoSource:
        """Open clips by name."""
        return video_source(data, size=80, seed=seed)

    def make_sets(
        self, source: VideoSource, setting: str, split: str, num: int, device: str, seed: int
    ) -> FrameSets:
        """Make sets of frames; a clip gives many sets."""
        return FrameSets(source.clips(split, num, device), num, seed=seed)

    def parts_of(self, sets: FrameSets) -> dict[str, Tensor]:
        """Return the sets of every source of clips, if these are few enough for a table."""
        names = [sets.source_of(which) for which in range(sets.num_sets)]
        sources = sorted(set(names))
        if not 1 < len(sources) <= MOST_SOURCES:
            return {}
        return {source: torch.tensor([name == source for name in names]) for source in sources}


EXPERIMENT = FramesExperiment()
