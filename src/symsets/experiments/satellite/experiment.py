"""Multi-image super-resolution: one fine picture of a place from many coarse ones."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import ClassVar

import torch
from torch import Tensor, nn

from symsets.experiments.satellite.generated import SceneSource
from symsets.experiments.satellite.metric import cpsnr, cssim, shift_loss
from symsets.experiments.satellite.network import SatelliteNetwork
from symsets.experiments.satellite.scenes import SceneFiles
from symsets.experiments.satellite.sets import SceneSets, bicubic, mean, turned
from symsets.experiments.study.catalogue import scene_source
from symsets.experiments.study.experiment import QUICK, SMOKE, Experiment, Preset, scaled
from symsets.models.turns import over_turns
from symsets.train.evaluation import Network, evaluate
from symsets.train.metrics import Metric, Task
from symsets.train.plan import Plan

LATE, WIDE = "siamese-late", "siamese-wide"
MODELS = ("siamese", LATE, WIDE, "dss-mean", "dss-max", "dss-sum", "aittala", "attention")
NUM_ELEMENTS = 16
FEWEST = 9  # different pictures of a set in training
PICTURES = (1, 3, 5, 9)  # further numbers of pictures at the test
CPSNR, CSSIM = Metric("cpsnr", cpsnr), Metric("cssim", cssim)
RAW = "-raw"  # ends a setting whose pictures are not registered
OURS = {
    "learning_rate": 5e-4,
    "batch_size": 9,
    "schedule": "cosine",
    "weight_decay": 1e-4,
    "average": 0.999,
    "clip": 1.0,
    "validations": 20,
    "evaluation_batch": 8,
}

PRESETS = {
    "smoke": replace(
        SMOKE,
        models=("dss-mean", "siamese"),
        train_sizes=(4,),
        width=0.125,
        test_size=2,
        batch_size=2,
        settings=("RED",),
    ),
    "quick": replace(
        QUICK,
        models=("dss-mean", "siamese", LATE),
        train_sizes=(32,),
        epochs=(40,),
        settings=("RED",),
    ),
    "paper": Preset(
        models=("dss-mean", "siamese"),
        train_sizes=(380,),
        seeds=3,
        epochs=(600,),
        test_size=200,
        settings=("RED", "NIR"),
        duration="about ten minutes for each run on one GPU",
    ),
}


class SatelliteExperiment(Experiment[SceneSource]):
    """Merge coarse pictures of one place into a fine one.

    Settings are the bands ``"RED"`` and ``"NIR"``, and ``"RED-raw"`` and ``"NIR-raw"``, where
    pictures are not registered beforehand. Model ``"siamese-late"`` is ``"siamese"`` without the
    mean of the set among its inputs; ``"siamese-wide"`` has more channels before the merge, so that
    it has as many parameters as ``"dss-mean"``, but for 2 %.
    """

    name = "satellite"
    story = (
        "Each set holds coarse pictures of one place that a satellite took on\n"
        "different days, shifted by fractions of a pixel, some under clouds.\n"
        "Make one picture of them that is three times as fine. What one\n"
        "picture lacks between its pixels, the others have."
    )
    models = MODELS
    presets = PRESETS
    task = Task(shift_loss, (CPSNR,), keep_outputs=False)
    baselines: ClassVar = {"bicubic": bicubic, "mean": mean}
    default_data = "embedded"
    plans: ClassVar = {"ours": OURS, "published": OURS}  # the papers' networks are not ours

    def open_source(self, data: str, seed: int) -> SceneSource:
        return scene_source(data, seed=seed)

    def settings_of(self, source: SceneSource) -> tuple[str, ...]:
        """Return the bands, and each of them without registration."""
        return (*source.bands, *(f"{band}{RAW}" for band in source.bands))

    def check_source(self, source: SceneSource, preset: Preset) -> None:
        if not isinstance(source, SceneFiles):
            return
        for setting in preset.settings:
            band = setting.removesuffix(RAW)
            most = len(source.names(band, "train")[1])
            preset.check_train_sizes(most, f"there are {most} scenes of {band}")

    def make_sets(
        self, source: SceneSource, setting: str, split: str, num: int, device: str, seed: int
    ) -> SceneSets:
        return _scene_sets(source, setting, split, num, device)

    def make_network(
        self, model: str, recipe: str, width: float, setting: str, source: SceneSource
    ) -> nn.Module:
        channels, merged = scaled([64, 128], width)
        blocks = 6 if width >= 1 else 2
        make = partial(
            SatelliteNetwork,
            num_blocks=blocks,
            merged_channels=merged,
            merged_blocks=blocks,
            num_elements=NUM_ELEMENTS,
            gives_mean=model != LATE,
        )
        if model == WIDE:
            channels = _equal_channels(make, channels)
        scheme = "siamese" if model in (LATE, WIDE) else model
        network = make(scheme, channels=channels)
        return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def make_plan(self, recipe: str, epochs: int, setting: str) -> Plan:
        """Say how a recipe trains; an average over few epochs would keep the first weights."""
        plan = super().make_plan(recipe, epochs, setting)
        return plan if epochs >= 100 else replace(plan, average=0.0)

    def measure_more(
        self, network: nn.Module, source: SceneSource, setting: str, num: int, device: str
    ) -> dict[str, Tensor]:
        """Measure the mean over eight turns, and sets with fewer and with more pictures."""
        dtype = next(network.eval().parameters()).dtype
        test = self.make_sets(source, setting, "test", num, device, 0).to(device, dtype)

        def measured(sets: SceneSets, function: Network, *more: Metric) -> dict[str, Tensor]:
            task = Task(shift_loss, (CPSNR, *more), keep_outputs=False)
            [found] = evaluate(function, sets, task, precision="tf32", batch_size=4)
            return found.values

        # Not in every validation: 49 similarities take longer than the network.
        found = measured(test, network, CSSIM)
        turns = measured(test, lambda x: over_turns(network, x, turned))
        values = {"cssim": found["cssim"], "cpsnr/eight turns": turns["cpsnr"]}
        for pictures in PICTURES:
            fewer = measured(test.with_pictures(pictures), network)
            values[f"cpsnr/{pictures} pictures"] = fewer["cpsnr"]
        norms = getattr(source, "norms", {})
        if norms.keys() >= set(test.names):
            best = found["cpsnr"]
            values["score"] = best.new_tensor([norms[name] for name in test.names]) / best
        every = measured(test.with_pictures(max(test.sizes)), network)
        return {**values, "cpsnr/all pictures": every["cpsnr"]}

    def example_inputs(self, x: Tensor) -> Tensor:
        """Return the clearest picture of each set, enlarged: sets themselves are large."""
        return bicubic(x)


def _equal_channels(make: Callable[..., nn.Module], channels: int) -> int:
    """Return the channels that give ``"siamese"`` the parameters of ``"dss-mean"``, nearly.

    From 64 on they are a multiple of eight, which GPUs are fastest with.
    """

    def parameters(scheme: str, num: int) -> int:
        with torch.device("meta"):
            return sum(p.numel() for p in make(scheme, channels=num).parameters())

    wanted = parameters("dss-mean", channels)
    choices = range(channels, 2 * channels, 8 if channels >= 64 else 1)
    return min(choices, key=lambda num: abs(parameters("siamese", num) - wanted))


@lru_cache(maxsize=4)
def _scene_sets(source: SceneSource, setting: str, split: str, num: int, device: str) -> SceneSets:
    band = setting.removesuffix(RAW)
    scenes = source.scenes(band, split, num)
    side = scenes[0].low.shape[-1]
    return SceneSets(
        scenes,
        num_elements=NUM_ELEMENTS,
        crop=min(48, 3 * side // 4),
        registered=not setting.endswith(RAW),
        fewest=FEWEST,
        device=device,
    )


EXPERIMENT = SatelliteExperiment()
