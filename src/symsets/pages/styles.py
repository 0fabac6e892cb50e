"""Labels, colours and markers of models, the same in all tables and figures."""

from __future__ import annotations

from typing import NamedTuple
from zlib import crc32


class ModelStyle(NamedTuple):
    """A model's label, colour, marker, line, and what it does."""

    label: str
    colour: str
    marker: str
    line: str
    meaning: str = ""


# After Okabe & Ito and Tol: told apart with any colour vision, and by marker and line as well.
# Solid lines aggregate early; dashed ones late; dotted ones ignore the symmetry of elements.
_TABLE = """
dss-sum       | DSS(sum)      | #0072b2 | o | -  | L₁(xᵢ) + L₂(Σⱼ xⱼ) in every layer
dss-mean      | DSS(mean)     | #3a9bd6 | s | -  | L₁(xᵢ) + L₂(meanⱼ xⱼ) in every layer
dss-max       | DSS(max)      | #5b3fa8 | ^ | -  | L₁(xᵢ) + L₂(maxⱼ xⱼ) in every layer
dss-median    | DSS(median)   | #2a9d8f | D | -  | L₁(xᵢ) + L₂(medianⱼ xⱼ) in every layer
aittala       | DSS(Aittala)  | #0b7a4b | v | -  | [L(xᵢ), maxⱼ L(xⱼ)] in every layer \
(Aittala and Durand, 2018)
sridhar       | DSS(Sridhar)  | #c0588f | X | -  | L(xᵢ) − meanⱼ L(xⱼ) in every layer \
(Sridhar et al., 2019)
dss-power2    | DSS(powers)   | #46707f | h | -  | L₁(xᵢ) + L₂(Σⱼ xⱼ, Σⱼ xⱼ²)
dss-sum-twice | DSS(sum), two layers | #1f4e8c | p | - | DSS(sum) with a second layer
attention     | attention     | #8a7a12 | P | -  | every element attends to its set, in every layer
siamese       | Siamese       | #d98c00 | o | -- | each element by itself up to the end
siamese-wide  | Siamese, wide | #b8860b | v | -- | the same with more channels, for equal parameters
siamese-late  | Siamese, late | #e0b050 | D | -- | the same without the mean of the set as an input
siamese-ds    | Siamese+DS    | #d55e00 | s | -- | each element by itself first, then a DeepSets \
over what became of them
wreath        | wreath        | #a8462f | ^ | -- | elements may move independently: only means of \
their entries meet
deepsets      | DeepSets      | #882255 | o | :  | DSS(sum) on elements as plain vectors, without \
the symmetry of their own
deepsets-max  | DeepSets(max) | #aa4499 | ^ | :  | the same with maxima
mlp           | MLP           | #6b7280 | s | :  | the whole set as one vector, without any symmetry
isab          | isab          | #5f6f0f | h | -  | every element attends to learned summaries of \
its set, in every layer
acting        | acting        | #275dad | * | -  | the weights of a layer act on features of neurons
dws           | dws           | #b5651d | < | -  | linear layers that know of the order of neurons
mlp-reordered | mlp-reordered | #475569 | X | :  | the MLP, trained on neurons in random order
nanotabpfn    | nanotabpfn    | #c2410c | > | :  | attention over cells; classes are one more number
random        | random choice | #8b929b |   | :  | a guess
grey          | grey image    | #8b929b |   | :  | the one channel of a picture for all three \
colours
median        | median of the set | #8b929b | | : | the median of the set, pixel by pixel
mean-shape    | mean shape    | #8b929b |   | :  | the shape nearest to the mean of the set
farthest      | farthest from the mean | #8b929b | | : | the frame farthest from the mean of the set
bicubic       | bicubic       | #8b929b |   | :  | the clearest picture, enlarged
mean          | mean of the set | #8b929b | | :  | the mean of the clear pixels, registered
logistic      | logistic regression | #8b929b | | : | fitted to the labelled rows of each table
boosting      | gradient boosting | #8b929b | | : | fitted to the labelled rows of each table
ridge         | ridge regressions | #8b929b | | : | what networks start from on each table
"""
_ROWS = [[cell.strip() for cell in row.split("|")] for row in _TABLE.strip().splitlines()]
MODEL_STYLES = {model: ModelStyle(*style) for model, *style in _ROWS}

_FIRST = "random"  # of those that are not trained
BASELINES = tuple(MODEL_STYLES)[list(MODEL_STYLES).index(_FIRST) :]
SIAMESE = ("siamese", "siamese-ds")

_SPARE = ("#4c566a", "#7a5c3e", "#3f6b6b")


def style_of(model: str) -> ModelStyle:
    """Return how a model is shown; an unknown word is its own label, always in the same colour.

    Example:
        >>> style_of("dss-sum").label, style_of("my-own").label
        ('DSS(sum)', 'my-own')
    """
    spare = _SPARE[crc32(model.encode()) % len(_SPARE)]
    return MODEL_STYLES.get(model) or ModelStyle(model, spare, "d", "-.")


def rank(model: str) -> tuple[int, str]:
    """Return where a model stands in a list: early aggregation, late, unknown words, baselines."""
    order = list(MODEL_STYLES)
    return order.index(model if model in order else _FIRST) + (model in BASELINES), model
