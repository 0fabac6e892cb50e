"""The networks of the paper, assembled from the set layers."""

from symsets.models.registry import build, register_network
from symsets.models.selection import SelectionNetwork
from symsets.models.signals import SignalNetwork
from symsets.models.unet import UNet

__all__ = ["SelectionNetwork", "SignalNetwork", "UNet", "build", "register_network"]
