"""Where elements come from, and how sets are made of them."""

from symsets.data.labelled import LabelledSets
from symsets.data.signals import CLASSES, Signals

__all__ = ["CLASSES", "LabelledSets", "Signals"]
