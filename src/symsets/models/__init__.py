"""Networks for sets of images, assembled from the set layers; networks by name."""

from symsets.models.card import Card
from symsets.models.registry import build, register_network
from symsets.models.selection import SelectionNetwork
from symsets.models.unet import UNet

__all__ = ["Card", "SelectionNetwork", "UNet", "build", "register_network"]
