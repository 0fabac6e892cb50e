"""Lift a network of timm to sets, and fine-tune it on a folder of sets.

A set holds five photographs of materials: three of one, two of others. Which is the one? A network
for single pictures is lifted in two ways: by ``network_for``, where everything is trained, and by
hand with ``lift``, where the original stays as it was and only what lifting adds learns. Needs
timm (``pip install "symsets[vision]"``), and takes trained weights from timm's cache or the
network; without them it starts at random ones, with a warning. Run
``python examples/fine_tune_timm.py``; about a minute on one CPU core.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import timm
import torch
from numpy.typing import NDArray
from PIL import Image
from skimage import data
from torch import nn

import symsets
from symsets.data import SetFolder
from symsets.models import network_for
from symsets.nn import Classify, Sequential
from symsets.train import fit, predict

BACKBONE, SIZE = "resnet18", 32
EPOCHS, LEARNING_RATE = 6, 5e-4
MATERIALS = ("brick", "grass", "gravel")
NUM_SETS = {"train": 32, "val": 8, "test": 24}  # of each material
SIDES = {"train": (0.0, 0.5), "val": (0.5, 0.7), "test": (0.7, 1.0)}  # parts of a photograph
EXPECTED = "about 0.93, with a stand-in for timm and random weights"


def crop(pixels: NDArray[np.uint8], split: str, random: np.random.Generator) -> Image.Image:
    """Cut a piece out of a photograph, from the part of it that a split may see."""
    first, last = (int(share * pixels.shape[1]) for share in SIDES[split])
    top, left = random.integers(pixels.shape[0] - SIZE), random.integers(first, last - SIZE + 1)
    exposed = pixels[top : top + SIZE, left : left + SIZE] * random.uniform(0.6, 1.2)
    return Image.fromarray(exposed.clip(0, 255).astype(np.uint8)).convert("RGB")


def make_sets(root: Path) -> None:
    """Write ``split/material/set/*.png``: three crops of the material, two of others."""
    random = np.random.default_rng(0)
    photos = {material: getattr(data, material)() for material in MATERIALS}  # (512, 512)
    for split, num in NUM_SETS.items():
        for material in MATERIALS:
            others = [other for other in MATERIALS if other != material]
            for k in range(num):
                folder = root / split / material / f"{material}-{k:02}"
                folder.mkdir(parents=True)
                for j, name in enumerate([material] * 3 + others):
                    crop(photos[name], split, random).save(folder / f"{j}.png")


def backbone() -> Any:
    """Return the network for single pictures, with trained weights if timm can get them."""
    try:
        return timm.create_model(BACKBONE, pretrained=True, num_classes=0, in_chans=3)
    except Exception:  # no connection, and nothing in the cache
        return timm.create_model(BACKBONE, pretrained=False, num_classes=0, in_chans=3)


def lifted_by_hand(num_classes: int) -> nn.Module:
    """Lift a network whose own weights stay as they are; messages between elements learn."""
    model = backbone()
    model.requires_grad_(False)
    return Sequential(
        nn.BatchNorm2d(3, affine=False),  # timm's networks want standardised colours
        symsets.lift(model, "dss-mean"),  # a vector for each picture
        Classify(model.num_features, num_classes, pool="mean"),
    )


def main(epochs: int = EPOCHS) -> float:
    """Fine-tune both, and return the accuracy of the one that was trained as a whole."""
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as root:
        make_sets(Path(root))  # your own folder takes its place
        sets = SetFolder(root)
        print(sets)
        train, val, test = sets.split()
        whole = network_for(train, backbone=f"timm:{BACKBONE}", pool="mean")
        accuracies = []
        for net in (lifted_by_hand(len(sets.classes)), whole):
            net = fit(net, train, val, epochs=epochs, learning_rate=LEARNING_RATE, workers=0)
            labels = [answer.label for answer in predict(net, test, workers=0)]
            right = [a == sets.classes[int(y)] for a, (_, y) in zip(labels, test, strict=True)]
            accuracies.append(sum(right) / len(right))
    print(f"lifted by hand, only what was added is trained: {accuracies[0]:.3f}")
    print(f"test accuracy {accuracies[1]:.3f} (expect {EXPECTED}; chance 0.333)")
    return accuracies[1]


if __name__ == "__main__":
    main()
