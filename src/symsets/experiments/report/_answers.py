"""Sets of a study with the answers of its models, as pictures show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from torch import Tensor

from symsets.pages.sheets import Line
from symsets.pages.styles import style_of


@dataclass(frozen=True)
class Answer:
    """What a run made of the sets."""

    output: Tensor
    seed: int = 0


@dataclass(frozen=True)
class Sets:
    """Sets of pictures ``(S, N, C, H, W)`` or shapes, what is right, and the answers of models.

    Pixel values are in [0, 1]; those of answers may lie outside, which counts as an error. More
    is what an experiment needs besides to show its sets.
    """

    x: Tensor
    target: Tensor
    answers: Mapping[str, Answer]
    more: Mapping[str, Tensor] = field(default_factory=dict)

    def name(self, model: str, *, bold: bool = False) -> Line:
        """Return the label of a model in its colour, with its seed if that is not the first."""
        seed = self.answers[model].seed
        label = style_of(model).label + (f", seed {seed}" if seed else "")
        return Line(label, style_of(model).colour, bold)

    def counted(self, found: Mapping[str, object]) -> str:
        """Return what was found of each model, in words."""
        return ", ".join(f"{self.name(model).text} {what}" for model, what in found.items())

    def means(self, found: Mapping[str, Sequence[float]], digits: int) -> str:
        """Return the mean of what was found of each model, in words."""
        return self.counted({m: f"{fmean(values):.{digits}f}" for m, values in found.items()})
