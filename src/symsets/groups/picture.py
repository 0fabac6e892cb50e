"""Parameter-sharing schemes to look at: a coloured figure, and plain text for a terminal."""

from __future__ import annotations

import math
import string
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from symsets._extras import require
from symsets.groups._arrays import IntArray
from symsets.groups.pairs import basis, dimension
from symsets.groups.permutation import PermutationGroup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_DRAWN = 400
MAX_COLUMNS = 120
ENDINGS = (".png", ".svg", ".pdf")
_LETTERS = string.ascii_lowercase + string.ascii_uppercase + string.digits


def describe(group: PermutationGroup, columns: int = MAX_COLUMNS) -> str:
    """Write the order of a group, its dimension, and the scheme with one sign per free parameter.

    The scheme is left out if its rows are longer than ``columns``, or than 120 signs.

    Example:
        >>> from symsets.groups import Cyclic, Symmetric
        >>> print(describe(Symmetric(2) * Cyclic(3)))
        group      S2 × C3 acting on 2×3
        order      6
        dimension  6  (free parameters of an equivariant layer)
        <BLANKLINE>
        abc│def
        cab│fde
        bca│efd
        ───┼───
        def│abc
        fde│cab
        efd│bca
    """
    count = dimension(group)
    return (
        f"group      {group!r}\n"
        f"order      {_order(group)}\n"
        f"dimension  {count}  (free parameters of an equivariant layer)\n\n"
        f"{_scheme(group, count, columns)}"
    )


def figure(group: PermutationGroup, path: str | PathLike[str] | None = None) -> Figure:
    """Draw the parameter-sharing scheme of a group: one colour for every free parameter.

    Strong colours are weights within a block of the first index axis (from an element of a set to
    itself), pale ones are weights between blocks (from the other elements).

    Args:
        group: The group, acting on at most 400 points.
        path: Where to save the figure; the ending chooses PNG, SVG or PDF.

    Reference:
        Maron et al., On Learning Sets of Symmetric Elements, ICML 2020, figure 6.
    """
    if group.degree > MAX_DRAWN:
        raise ValueError(f"group must act on at most {MAX_DRAWN} points, {group!r} is too many")
    if path is not None and Path(path).suffix.lower() not in ENDINGS:
        raise ValueError(f"path must end in one of {list(ENDINGS)}, got {str(path)!r}")
    Figure = require("matplotlib.figure", "experiments").Figure

    labels, block = basis(group), _block(group)
    drawing = Figure(figsize=(4.6, 5.1), dpi=200, layout="constrained")
    axes = drawing.add_subplot()
    axes.imshow(_palette(labels, block)[labels], interpolation="nearest")
    for width, step in ((0.4, 1), (1.6, block)):
        if 1 < group.degree // step <= 40:
            for place in np.arange(step, group.degree, step) - 0.5:
                axes.axhline(place, color="white", linewidth=width)
                axes.axvline(place, color="white", linewidth=width)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.set_title(repr(group), fontsize=13, pad=22)
    count = int(labels.max()) + 1
    facts = f"order {_order(group)}, {count} parameter{'s' * (count > 1)}"
    axes.text(0.5, 1.02, facts, transform=axes.transAxes, ha="center", va="bottom", fontsize=9)
    if path is not None:
        drawing.savefig(path, bbox_inches="tight", pad_inches=0.12)
    return drawing


def _order(group: PermutationGroup) -> str:
    """Write the order of a group, rounded, as in ``1.55·10^25``, if it has more than 12 digits."""
    logarithm = group.log10_order()  # the order itself may have billions of digits
    if logarithm < 13 and group.order < 10**12:
        return str(group.order)
    exponent = math.floor(logarithm)
    if exponent > 10**9:  # too large for the logarithm to hold digits of the mantissa
        return f"10^{exponent}"
    mantissa = f"{10 ** (logarithm - exponent):.2f}"
    return f"1.00·10^{exponent + 1}" if mantissa == "10.00" else f"{mantissa}·10^{exponent}"


def _scheme(group: PermutationGroup, count: int, columns: int) -> str:
    """Write the scheme with letters, or with numbers if there are more parameters than letters."""
    short = count <= len(_LETTERS)
    width = 1 if short else len(str(count - 1)) + 1
    step = _block(group) if _block(group) > 1 else group.degree
    if group.degree * width + group.degree // step - 1 > min(columns, MAX_COLUMNS):
        drawn = "; --figure draws it" if group.degree <= MAX_DRAWN else ""
        return f"{group.degree} points are too many to write their scheme out{drawn}."
    signs = list(_LETTERS) if short else [f"{label:>{width}}" for label in range(count)]
    starts = range(0, group.degree, step)
    rows = [
        "│".join("".join(signs[label] for label in row[k : k + step]) for k in starts)
        for row in basis(group)
    ]
    rule = "┼".join("─" * (step * width) for _ in starts)
    return f"\n{rule}\n".join("\n".join(rows[k : k + step]) for k in starts)


def _block(group: PermutationGroup) -> int:
    """Number of points that share their index on the first axis."""
    return group.degree // group.shape[0] if group.shape else 1


def _palette(labels: IntArray, block: int) -> npt.NDArray[np.float64]:
    """Choose colours ``(E, 3)``: strong for labels within blocks, pale for the others."""
    place = np.arange(len(labels)) // block
    own = np.unique(labels[place[:, None] == place])
    others = np.setdiff1d(np.arange(labels.max() + 1), own)
    rainbow = require("matplotlib", "experiments").colormaps["turbo"].resampled(labels.size)
    colours = np.empty((len(own) + len(others), 3))
    colours[own] = rainbow(np.linspace(0.1, 0.9, len(own)))[:, :3]
    colours[others] = 0.7 + 0.3 * rainbow(np.linspace(0.1, 0.9, len(others)))[:, :3]
    if len(others) == 1:
        colours[others] = 0.85  # a single weight for all other elements is a background: grey
    return colours
