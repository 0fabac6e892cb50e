"""Burst deblurring: one sharp picture from five shaken, noisy shots."""

from __future__ import annotations

from functools import partial
from typing import cast

from torch import Tensor
from torch.nn.functional import l1_loss

from symsets.data.images import ImageSource
from symsets.experiments.bursts.sets import BurstSets, median
from symsets.experiments.study.catalogue import image_source
from symsets.experiments.study.experiment import Experiment, Preset, Source
from symsets.experiments.study.images import PATIENCE, PUBLISHED_MODELS, pictures, unet
from symsets.models._blocks import MODELS
from symsets.train.metrics import Metric, Task, mean_absolute_error, psnr, ssim
from symsets.train.plan import Plan

__all__ = ["EXPERIMENT", "image_and_gradients"]

SIZE = 128
PRESETS = {
    "smoke": Preset(
        models=("dss-sum", "siamese-ds"),
        train_sizes=(8,),
        seeds=1,
        epochs=(2,),
        width=0.125,
        test_size=4,
        batch_size=4,
        duration="a few seconds",
    ),
    "quick": Preset(
        models=("dss-max", "siamese-ds"),
        train_sizes=(320,),
        seeds=1,
        epochs=(4,),
        width=0.17,
        test_size=16,
        batch_size=4,
        duration="about three minutes on two cores",
    ),
    "paper": Preset(
        models=PUBLISHED_MODELS,
        train_sizes=(100_000,),
        seeds=3,
        epochs=(2,),
        published_epochs=35,
        test_size=10_000,
        duration="hours on one GPU (never timed as a whole)",
    ),
}


def image_and_gradients(output: Tensor, target: Tensor) -> Tensor:
    """Return the L1 error of pictures and of their differences between neighbouring pixels."""
    loss = l1_loss(output, target)
    for axis in (-1, -2):
        loss = loss + l1_loss(output.diff(dim=axis), target.diff(dim=axis))
    return loss


def make_plan(recipe: str, epochs: int, setting: str) -> Plan:
    """Return how a recipe trains."""
    if recipe == "ours":
        return Plan(epochs, batch_size=32, schedule="cosine", evaluation_batch=64)
    return Plan(
        epochs,
        batch_size=32,
        schedule="staircase",
        decay=0.95,
        patience=PATIENCE,
        evaluation_batch=64,
    )


def make_sets(
    source: ImageSource, setting: str, split: str, num: int, device: str, seed: int
) -> BurstSets:
    """Make the sets of a split."""
    return BurstSets(pictures(source, split, num, device), num, size=SIZE, seed=seed)


EXPERIMENT = Experiment(
    name="bursts",
    network="unet",
    story=(
        "Each set holds five shots of one scene, blurred by a shaking\n"
        "hand and noisy. Make one sharp picture of them. The shots are\n"
        "sharp in different places and directions, which a network can\n"
        "use only if they meet before their details are gone."
    ),
    models=MODELS,
    presets=PRESETS,
    task=Task(
        image_and_gradients,
        (
            Metric("mae", mean_absolute_error(127.5), larger_is_better=False),
            Metric("psnr", psnr(2.0)),
            Metric("ssim", ssim(2.0, low=-1.0)),
        ),
        keep_outputs=False,
    ),
    make_network=partial(unet, SIZE, "merge", 5),
    make_plan=make_plan,
    open_source=lambda data, seed: cast(Source, image_source(data, size=SIZE, seed=seed)),
    make_sets=make_sets,
    learning_rates={"ours": 1e-3, "published": 3e-3},
    baselines={"median": median},
    default_data="embedded",
)
