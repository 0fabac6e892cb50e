"""How a model is called and drawn: the same everywhere, whatever else is in the study."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

__all__ = ["BASELINES", "SIAMESE", "Look", "look", "rank"]


@dataclass(frozen=True)
class Look:
    """A model's label, its colours on light and dark ground, its marker and its line."""

    label: str
    colour: str
    dark: str
    marker: str = "o"
    line: str = "-"


# After Okabe & Ito and Tol: told apart with any colour vision, and by marker and line as well.
# Solid lines aggregate early; dashed ones late; dotted ones ignore the symmetry of elements.
LOOKS = {
    "dss-sum": Look("DSS(sum)", "#0072b2", "#4db2f0"),
    "dss-mean": Look("DSS(mean)", "#3a9bd6", "#8fd0fa", "s"),
    "dss-max": Look("DSS(max)", "#5b3fa8", "#a58cf0", "^"),
    "dss-median": Look("DSS(median)", "#2a9d8f", "#62d0c2", "D"),
    "aittala": Look("DSS(Aittala)", "#0b7a4b", "#3fc48d", "v"),
    "sridhar": Look("DSS(Sridhar)", "#c0588f", "#e591bd", "X"),
    "dss-power2": Look("DSS(powers)", "#46707f", "#8fb9c8", "h"),
    "dss-sum-twice": Look("DSS(sum), two layers", "#1f4e8c", "#7fa8e0", "p"),
    "attention": Look("attention", "#8a7a12", "#d6c64a", "P"),
    "siamese": Look("Siamese", "#d98c00", "#f5b335", "o", "--"),
    "siamese-ds": Look("Siamese+DS", "#d55e00", "#ff8a3d", "s", "--"),
    "wreath": Look("wreath", "#a8462f", "#e08a72", "^", "--"),
    "deepsets": Look("DeepSets", "#882255", "#d2709f", "o", ":"),
    "deepsets-max": Look("DeepSets(max)", "#aa4499", "#dd88cf", "^", ":"),
    "mlp": Look("MLP", "#6b7280", "#a7afba", "s", ":"),
    "random": Look("random choice", "#8b929b", "#98a1ac", "", ":"),
    "grey": Look("grey image", "#8b929b", "#98a1ac", "", ":"),
    "median": Look("median of the set", "#8b929b", "#98a1ac", "", ":"),
    "mean-shape": Look("mean shape", "#8b929b", "#98a1ac", "", ":"),
}

BASELINES = ("random", "grey", "median", "mean-shape")
SIAMESE = ("siamese", "siamese-ds")

_SPARE = (("#4c566a", "#a9b4c8"), ("#7a5c3e", "#cfa67c"), ("#3f6b6b", "#86bdbd"))


def look(model: str) -> Look:
    """Return how a model is shown; an unknown word is its own label, always in the same colour.

    Example:
        >>> look("dss-sum").label, look("my-own").label
        ('DSS(sum)', 'my-own')
    """
    spare = _SPARE[crc32(model.encode()) % len(_SPARE)]
    return LOOKS.get(model) or Look(model, *spare, marker="d", line="-.")


def rank(model: str) -> tuple[int, str]:
    """Return where a model stands in a list: early aggregation, late, unknown words, baselines."""
    order = list(LOOKS)
    if model in BASELINES:
        return len(order) + 1 + BASELINES.index(model), model
    return order.index(model) if model in order else len(order), model
