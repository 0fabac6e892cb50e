"""Burst deblurring: one sharp picture from five shaken, noisy shots."""

from dataclasses import replace
from typing import ClassVar

from torch import Tensor
from torch.nn.functional import l1_loss

from symsets.data.images import ImageSource
from symsets.experiments.bursts.sets import BurstSets, median
from symsets.experiments.study.experiment import PAPER, QUICK, SMOKE
from symsets.experiments.study.images import UNetExperiment, pictures, unet_plans
from symsets.train.metrics import Metric, Task, mean_absolute_error, psnr, ssim

PRESETS = {
    "smoke": replace(SMOKE, train_sizes=(8,), width=0.125, test_size=4),
    "quick": replace(
        QUICK,
        models=("dss-max", "siamese-ds"),
        train_sizes=(320,),
        epochs=(4,),
        width=0.17,
        test_size=16,
        batch_size=4,
    ),
    "paper": replace(
        PAPER, train_sizes=(100_000,), epochs=(2,), published_epochs=35, test_size=10_000
    ),
}


def image_and_gradients(output: Tensor, target: Tensor) -> Tensor:
    """Return the L1 error of pictures and of their differences between neighbouring pixels."""
    loss = l1_loss(output, target)
    for axis in (-1, -2):
        loss = loss + l1_loss(output.diff(dim=axis), target.diff(dim=axis))
    return loss


class BurstsExperiment(UNetExperiment):
    """Merge five shots of one scene."""

    name = "bursts"
    story = (
        "Each set holds five shots of one scene, blurred by a shaking\n"
        "hand and noisy. Make one sharp picture of them. The shots are\n"
        "sharp in different places and directions, which a network can\n"
        "use only if they meet before their details are gone."
    )
    presets = PRESETS
    num_elements = 5
    size = source_size = 128
    output = "merge"
    task = Task(
        image_and_gradients,
        (
            Metric("mae", mean_absolute_error(127.5), larger_is_better=False),
            Metric("psnr", psnr(2.0)),
            Metric("ssim", ssim(2.0, low=-1.0)),
        ),
        keep_outputs=False,
    )
    plans = unet_plans(64, learning_rate=3e-3, decay=0.95)
    baselines: ClassVar = {"median": median}

    def make_sets(
        self, source: ImageSource, setting: str, split: str, num: int, device: str, seed: int
    ) -> BurstSets:
        return BurstSets(pictures(source, split, num, device), num, size=self.size, seed=seed)


EXPERIMENT = BurstsExperiment()
