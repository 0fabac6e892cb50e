"""Any network for one element becomes a network for sets."""

from symsets.lift.network import Lifted, lift

__all__ = ["lift", "Lifted"]
