"""Parameter-sharing schemes to look at: a coloured figure, and plain text for a terminal."""

from __future__ import annotations

import re
import string
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from symsets._extras import require
from symsets.groups._arrays import IntArray
from symsets.groups.notation import order_text
from symsets.groups.pairs import basis, dimension
from symsets.groups.permutation import PermutationGroup

__all__ = ["figure", "scheme_text"]

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_DRAWN = 400
MAX_COLUMNS = 120
ENDINGS = (".png", ".svg", ".pdf")
_LETTERS = string.ascii_lowercase + string.ascii_uppercase + string.digits


def figure(group: PermutationGroup, path: str | PathLike[str] | None = None) -> Figure:
    """Draw the parameter-sharing scheme of a group: one colour for every free parameter.

    Strong colours are weights within a block of the first index axis (an element of a set looking
    at itself), pale ones are weights between blocks (at the others).

    Args:
        group: The group, acting on at most 400 points.
        path: Where to save the figure; the ending chooses PNG, SVG or PDF.

    Reference:
        Maron et al., On Learning Sets of Symmetric Elements, ICML 2020, figure 6.
    """
    if group.degree > MAX_DRAWN:
        raise ValueError(f"group must move at most {MAX_DRAWN} points, {group!r} is too many")
    if path is not None and Path(path).suffix not in ENDINGS:
        raise ValueError(f"path must end in one of {list(ENDINGS)}, got {str(path)!r}")
    Figure = require("matplotlib.figure", "experiments").Figure

    labels, block = basis(group), _block(group)
    colours = _palette(labels, block)
    drawing = Figure(figsize=(4.6, 5.1), dpi=200, layout="constrained")
    axes = drawing.add_subplot()
    axes.imshow(colours[labels], interpolation="nearest")
    for width, step in ((0.4, 1), (1.6, block)):
        if 1 < group.degree // step <= 40:
            for place in np.arange(step, group.degree, step) - 0.5:
                axes.axhline(place, color="white", linewidth=width)
                axes.axvline(place, color="white", linewidth=width)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    points = "×".join(map(str, group.shape)) or "1"
    axes.set_title(f"${_mathematics(group)}$", fontsize=15, pad=22)
    count = int(labels.max()) + 1
    facts = f"on $\\mathbb{{R}}^{{{points}}}$   ·   order ${_power(order_text(group))}$   ·   "
    facts += f"{count} parameter{'s' * (count > 1)}"
    axes.text(0.5, 1.02, facts, transform=axes.transAxes, ha="center", va="bottom", fontsize=9)
    if path is not None:
        drawing.savefig(path, bbox_inches="tight", pad_inches=0.12)
    return drawing


def scheme_text(group: PermutationGroup) -> str:
    """Write the parameter-sharing scheme with one sign for every free parameter.

    Example:
        >>> from symsets.groups import Cyclic, Symmetric
        >>> print(scheme_text(Symmetric(2) * Cyclic(3)))
        abc│def
        cab│fde
        bca│efd
        ───┼───
        def│abc
        fde│cab
        efd│bca
    """
    block, count = _block(group), dimension(group)
    short = count <= len(_LETTERS)
    width = 1 if short else len(str(count - 1)) + 1
    if group.degree * width + group.degree // block > MAX_COLUMNS:
        return f"{group!r}: {group.degree} points are too many to write their scheme out."
    signs = list(_LETTERS) if short else [f"{label:>{width}}" for label in range(count)]
    ends = range(0, group.degree, block) if block > 1 else [0]
    step = block if block > 1 else group.degree
    rule = "┼".join("─" * (step * width) for _ in ends)
    lines = [
        "│".join("".join(signs[label] for label in row[end : end + step]) for end in ends)
        for row in basis(group)
    ]
    blocks = ["\n".join(lines[end : end + step]) for end in ends]
    return f"\n{rule}\n".join(blocks)


def _block(group: PermutationGroup) -> int:
    """Number of points that share their place on the first index axis."""
    return group.degree // group.shape[0] if group.shape else 1


def _palette(labels: IntArray, block: int) -> npt.NDArray[np.float64]:
    """Choose colours ``(E, 3)``: strong for labels within blocks, pale for the others."""
    place = np.arange(len(labels)) // block
    own = np.unique(labels[place[:, None] == place])
    others = np.setdiff1d(np.arange(labels.max() + 1), own)
    colours = np.empty((len(own) + len(others), 3))
    colours[own] = _colours(len(own), lightness=0.63, chroma=0.14)
    # A single weight for all other elements is a background: grey.
    colours[others] = _colours(len(others), lightness=0.88, chroma=0.06 * (len(others) > 1))
    return colours


def _colours(count: int, lightness: float, chroma: float) -> npt.NDArray[np.float64]:
    """Spread hues evenly from blue on, in the OKLCH colour space, where equal steps look equal."""
    place = np.arange(count)
    light = lightness + 0.05 * (1 - place % 3) * (count > 8)  # many hues also differ in lightness
    angle = np.deg2rad(255) + 2 * np.pi * place / max(count, 1)
    a, b = chroma * np.cos(angle), chroma * np.sin(angle)
    long = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (light - 0.0894841775 * a - 1.2914855480 * b) ** 3
    mix = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.7076147010],
        ]
    )
    linear = np.clip(np.stack([long, medium, short], axis=1) @ mix.T, 0, 1)
    return np.where(linear > 0.0031308, 1.055 * linear ** (1 / 2.4) - 0.055, 12.92 * linear)


def _mathematics(group: PermutationGroup) -> str:
    """Write the name of a group for matplotlib's mathematics."""
    text = re.sub(r"([SCDI])(\d+)", r"\1_{\2}", str(group))
    text = re.sub(r"\^(\d+)", r"^{\\,\\otimes\1}", text)
    text = re.sub(r"permutations of|points", r"\\mathrm{\g<0>}", text.replace(" wr ", r"\;\wr\;"))
    text = re.sub(r"(?<=[\w}]) (?=[\w\\])", r"\\ ", text)  # mathematics drops plain spaces
    return text.replace("×", r"\times")


def _power(text: str) -> str:
    """Turn ``1.55·10^25`` into mathematics."""
    mantissa, _, exponent = text.partition("^")
    return f"{mantissa}^{{{exponent}}}".replace("·", r"\cdot ") if exponent else text
