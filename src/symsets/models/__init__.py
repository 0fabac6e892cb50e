"""The networks of the paper, assembled from the set layers."""

from symsets.models.registry import build, register_network
from symsets.models.signals import SignalNetwork

__all__ = ["SignalNetwork", "build", "register_network"]
