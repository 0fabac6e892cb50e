"""The networks of the paper, assembled from the set layers."""

from symsets.models.registry import build, register_network
from symsets.models.selection import SelectionNetwork
from symsets.models.shapes import ShapeNetwork
from symsets.models.signals import SignalNetwork
from symsets.models.unet import UNet
from symsets.models.views import ViewsNetwork
from symsets.models.views_loss import views_loss

__all__ = [
    "SelectionNetwork",
    "ShapeNetwork",
    "SignalNetwork",
    "UNet",
    "ViewsNetwork",
    "build",
    "register_network",
    "views_loss",
]
