"""Labels, colours and markers of models, the same in all tables and figures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from zlib import crc32

__all__ = ["BASELINES", "MODEL_STYLES", "SIAMESE", "ModelStyle", "style_of", "rank"]


@dataclass(frozen=True)
class ModelStyle:
    """A model's label, what it does, its colours on light and dark ground, its marker and line."""

    label: str
    meaning: str = ""
    colour: str = "#8b929b"
    dark: str = "#98a1ac"
    marker: str = ""
    line: str = ":"


_EVERY = "in every layer"
# After Okabe & Ito and Tol: told apart with any colour vision, and by marker and line as well.
# Solid lines aggregate early; dashed ones late; dotted ones ignore the symmetry of elements.
_EARLY = {
    "dss-sum": ("DSS(sum)", f"L₁(xᵢ) + L₂(Σⱼ xⱼ) {_EVERY}", "#0072b2", "#4db2f0", "o"),
    "dss-mean": ("DSS(mean)", f"L₁(xᵢ) + L₂(meanⱼ xⱼ) {_EVERY}", "#3a9bd6", "#8fd0fa", "s"),
    "dss-max": ("DSS(max)", f"L₁(xᵢ) + L₂(maxⱼ xⱼ) {_EVERY}", "#5b3fa8", "#a58cf0", "^"),
    "dss-median": ("DSS(median)", f"L₁(xᵢ) + L₂(medianⱼ xⱼ) {_EVERY}", "#2a9d8f", "#62d0c2", "D"),
    "aittala": (
        "DSS(Aittala)",
        f"[L(xᵢ), maxⱼ L(xⱼ)] {_EVERY} (Aittala and Durand, 2018)",
        "#0b7a4b",
        "#3fc48d",
        "v",
    ),
    "sridhar": (
        "DSS(Sridhar)",
        f"L(xᵢ) − meanⱼ L(xⱼ) {_EVERY} (Sridhar et al., 2019)",
        "#c0588f",
        "#e591bd",
        "X",
    ),
    "dss-power2": ("DSS(powers)", "L₁(xᵢ) + L₂(Σⱼ xⱼ, Σⱼ xⱼ²)", "#46707f", "#8fb9c8", "h"),
    "dss-sum-twice": (
        "DSS(sum), two layers",
        "DSS(sum) with a second layer",
        "#1f4e8c",
        "#7fa8e0",
        "p",
    ),
    "attention": (
        "attention",
        f"every element attends to its set, {_EVERY}",
        "#8a7a12",
        "#d6c64a",
        "P",
    ),
}
_LATE = {
    "siamese": ("Siamese", "each element by itself up to the end", "#d98c00", "#f5b335", "o"),
    "siamese-ds": (
        "Siamese+DS",
        "each element by itself first, then a DeepSets over what became of them",
        "#d55e00",
        "#ff8a3d",
        "s",
    ),
    "wreath": (
        "wreath",
        "elements may move independently: only means of their entries meet",
        "#a8462f",
        "#e08a72",
        "^",
    ),
}
_OTHER = {
    "deepsets": (
        "DeepSets",
        "DSS(sum) on elements as plain vectors, without the symmetry of their own",
        "#882255",
        "#d2709f",
        "o",
    ),
    "deepsets-max": ("DeepSets(max)", "the same with maxima", "#aa4499", "#dd88cf", "^"),
    "mlp": ("MLP", "the whole set as one vector, without any symmetry", "#6b7280", "#a7afba", "s"),
    "random": ("random choice", "a guess"),
    "grey": ("grey image", "the one channel of a picture for all three colours"),
    "median": ("median of the set", "the median of the set, pixel by pixel"),
    "mean-shape": ("mean shape", "the shape nearest to the mean of the set"),
}
MODEL_STYLES = {
    model: replace(ModelStyle(*look), line=line)
    for looks, line in ((_EARLY, "-"), (_LATE, "--"), (_OTHER, ":"))
    for model, look in looks.items()
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
    return MODEL_STYLES.get(model) or ModelStyle(model, "", *spare, "d", "-.")


def rank(model: str) -> tuple[int, str]:
    """Return where a model stands in a list: early aggregation, late, unknown words, baselines."""
    order = list(MODEL_STYLES)
    if model in BASELINES:
        return len(order) + 1 + BASELINES.index(model), model
    return order.index(model) if model in order else len(order), model
