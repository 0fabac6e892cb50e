"""Vectors of weights with the classes of the pictures that they represent."""

import torch
from torch import Tensor

from symsets.data.labelled import LabelledSets
from symsets.data.splits import SPLITS
from symsets.experiments.weights.fitting import fit_networks, random_start, start_scale
from symsets.experiments.weights.pictures import PictureSource
from symsets.experiments.weights.space import WIDTHS, WeightSpace

SPACE = WeightSpace(WIDTHS)
OWN, SAME = "own-start", "same-start"


def weight_sets(
    source: PictureSource, split: str, num: int, *, setting: str = OWN, device: str = "cpu"
) -> LabelledSets:
    """Fit networks to the pictures of a split: ``num`` of them for training, else one at most each.

    If there are fewer pictures for training, each is fitted several times. The seed of the source
    draws the starts. Weights are measured in units of these: divided by their standard deviation.
    With setting ``"own-start"`` each begins at random weights of its own, with ``"same-start"`` all
    begin at the same, which gives their neurons an order.

    Shape:
        - x: ``(num, 1, D)``
        - y: ``(num,)``
    """
    pictures, labels = source.split(split)
    if split != "train":
        num = min(num, len(labels))
    seed = len(SPLITS) * source.seed
    if setting == SAME:
        num_fits = min(num, len(labels))
        start = random_start(SPACE, 1, seed).expand(num_fits, -1)
    else:
        num_fits = num
        start = random_start(SPACE, num, seed + SPLITS.index(split))
    which = torch.arange(num_fits) % len(labels)
    fitted = fit_networks(SPACE, start.to(device), pictures[which].to(device), source.steps)
    x = (fitted / start_scale(SPACE).to(device)).unsqueeze(1)
    copies = torch.arange(num) % num_fits
    return LabelledSets(x[copies.to(device)], labels[which][copies].to(device))


def reordered(sets: LabelledSets, seed: int = 0) -> LabelledSets:
    """Reorder the neurons of every network at random: each computes what it computed."""
    assert isinstance(sets.x, Tensor)
    orders = SPACE.random_orders(sets.x, torch.Generator().manual_seed(seed))
    return LabelledSets(SPACE.reorder(sets.x, orders), sets.y)
