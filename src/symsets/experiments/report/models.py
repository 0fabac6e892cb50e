"""How a model is called and drawn: the same everywhere, whatever else is in the study."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

__all__ = ["BASELINES", "MODEL_STYLES", "SIAMESE", "ModelStyle", "style_of", "rank"]


@dataclass(frozen=True)
class ModelStyle:
    """A model's label, its colours on light and dark ground, its marker, its line; what it does."""

    label: str
    colour: str
    dark: str
    marker: str = "o"
    line: str = "-"
    meaning: str = ""


# After Okabe & Ito and Tol: told apart with any colour vision, and by marker and line as well.
# Solid lines aggregate early; dashed ones late; dotted ones ignore the symmetry of elements.
MODEL_STYLES = {
    "dss-sum": ModelStyle(
        "DSS(sum)", "#0072b2", "#4db2f0", meaning="L₁(xᵢ) + L₂(Σⱼ xⱼ) in every layer"
    ),
    "dss-mean": ModelStyle(
        "DSS(mean)", "#3a9bd6", "#8fd0fa", "s", meaning="L₁(xᵢ) + L₂(meanⱼ xⱼ) in every layer"
    ),
    "dss-max": ModelStyle(
        "DSS(max)", "#5b3fa8", "#a58cf0", "^", meaning="L₁(xᵢ) + L₂(maxⱼ xⱼ) in every layer"
    ),
    "dss-median": ModelStyle(
        "DSS(median)", "#2a9d8f", "#62d0c2", "D", meaning="L₁(xᵢ) + L₂(medianⱼ xⱼ) in every layer"
    ),
    "aittala": ModelStyle(
        "DSS(Aittala)",
        "#0b7a4b",
        "#3fc48d",
        "v",
        meaning="[L(xᵢ), maxⱼ L(xⱼ)] in every layer (Aittala and Durand, 2018)",
    ),
    "sridhar": ModelStyle(
        "DSS(Sridhar)",
        "#c0588f",
        "#e591bd",
        "X",
        meaning="L(xᵢ) − meanⱼ L(xⱼ) in every layer (Sridhar et al., 2019)",
    ),
    "dss-power2": ModelStyle(
        "DSS(powers)", "#46707f", "#8fb9c8", "h", meaning="L₁(xᵢ) + L₂(Σⱼ xⱼ, Σⱼ xⱼ²)"
    ),
    "dss-sum-twice": ModelStyle(
        "DSS(sum), two layers", "#1f4e8c", "#7fa8e0", "p", meaning="DSS(sum) with a second layer"
    ),
    "attention": ModelStyle(
        "attention",
        "#8a7a12",
        "#d6c64a",
        "P",
        meaning="every element attends to its set, in every layer",
    ),
    "siamese": ModelStyle(
        "Siamese", "#d98c00", "#f5b335", "o", "--", meaning="each element by itself up to the end"
    ),
    "siamese-ds": ModelStyle(
        "Siamese+DS",
        "#d55e00",
        "#ff8a3d",
        "s",
        "--",
        meaning="each element by itself first, then a DeepSets over what became of them",
    ),
    "wreath": ModelStyle(
        "wreath",
        "#a8462f",
        "#e08a72",
        "^",
        "--",
        meaning="elements may move independently: only means of their entries meet",
    ),
    "deepsets": ModelStyle(
        "DeepSets",
        "#882255",
        "#d2709f",
        "o",
        ":",
        meaning="DSS(sum) on elements as plain vectors, without the symmetry of their own",
    ),
    "deepsets-max": ModelStyle(
        "DeepSets(max)", "#aa4499", "#dd88cf", "^", ":", meaning="the same with maxima"
    ),
    "mlp": ModelStyle(
        "MLP",
        "#6b7280",
        "#a7afba",
        "s",
        ":",
        meaning="the whole set as one vector, without any symmetry",
    ),
    "random": ModelStyle("random choice", "#8b929b", "#98a1ac", "", ":", meaning="a guess"),
    "grey": ModelStyle(
        "grey image",
        "#8b929b",
        "#98a1ac",
        "",
        ":",
        meaning="the one channel of a picture for all three colours",
    ),
    "median": ModelStyle(
        "median of the set",
        "#8b929b",
        "#98a1ac",
        "",
        ":",
        meaning="the median of the set, pixel by pixel",
    ),
    "mean-shape": ModelStyle(
        "mean shape",
        "#8b929b",
        "#98a1ac",
        "",
        ":",
        meaning="the shape nearest to the mean of the set",
    ),
}

BASELINES = ("random", "grey", "median", "mean-shape")
SIAMESE = ("siamese", "siamese-ds")

_SPARE = (("#4c566a", "#a9b4c8"), ("#7a5c3e", "#cfa67c"), ("#3f6b6b", "#86bdbd"))


def style_of(model: str) -> ModelStyle:
    """Return how a model is shown; an unknown word is its own label, always in the same colour.

    Example:
        >>> style_of("dss-sum").label, style_of("my-own").label
        ('DSS(sum)', 'my-own')
    """
    spare = _SPARE[crc32(model.encode()) % len(_SPARE)]
    return MODEL_STYLES.get(model) or ModelStyle(model, *spare, marker="d", line="-.")


def rank(model: str) -> tuple[int, str]:
    """Return where a model stands in a list: early aggregation, late, unknown words, baselines."""
    order = list(MODEL_STYLES)
    if model in BASELINES:
        return len(order) + 1 + BASELINES.index(model), model
    return order.index(model) if model in order else len(order), model
