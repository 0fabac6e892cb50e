"""Whole networks for sets: for any task and kind of elements, of the paper, or by name."""

from symsets.models.best import BestNetwork
from symsets.models.card import Card
from symsets.models.merging import MergeNetwork, with_reference
from symsets.models.network import SetNetwork, network_for
from symsets.models.registry import build, register_network
from symsets.models.selection import SelectionNetwork
from symsets.models.unet import UNet

__all__ = [
    "network_for",
    "SetNetwork",
    "Card",
    "BestNetwork",
    "MergeNetwork",
    "with_reference",
    "SelectionNetwork",
    "UNet",
    "build",
    "register_network",
]
