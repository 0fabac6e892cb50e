"""Sheets of satellite scenes: what models made of them, the truth, and where they differ."""

from collections import defaultdict

import torch
from torch import Tensor

from symsets.experiments.report._answers import Sets
from symsets.experiments.satellite.metric import best_window, cpsnr
from symsets.pages.drawing import Picture
from symsets.pages.sheets import Line, Sheet, Tile

RANGE = 0.01, 0.99  # shares of the truth's pixels that are darker than black, and than white
STRONGER = 4  # times are errors shown


def draw_scenes(sets: Sets) -> Picture:
    """Draw the truth of each scene, what models made of it, and their errors below.

    Targets are ``(S, 3, H, W)`` (truth, where it is clear, usual error), answers ``(S, 1, H, W)``.
    """
    sheet = Sheet(1 + len(sets.answers), largest=1.5)
    ratios: dict[str, list[float]] = defaultdict(list)
    for s, target in enumerate(sets.target):
        low, high = torch.quantile(target[0].flatten(), torch.tensor(RANGE)).tolist()
        span = max(high - low, 1e-6)
        pictures = [Tile((target[:1] - low) / span, Line("truth"))]
        errors = [Tile(target[1:2])]
        for model, answer in sets.answers.items():
            output = answer.output[s : s + 1]
            ratios[model].append(float(cpsnr(output, target[None])))
            said = [Line(f"{ratios[model][-1]:.2f} dB")]
            pictures.append(Tile((output[0] - low) / span, sets.name(model), said))
            errors.append(Tile(0.5 + _error(output, target[None]) / span))
        sheet.row(pictures, [Line(f"scene {s + 1}", bold=True)])
        sheet.row(errors, [Line("errors")])
    return sheet.close(
        "Above, the truth and what each model made of a scene, with its cPSNR; below, where the "
        f"truth is clear (white), and the errors, {STRONGER} times as strong around grey.",
        f"{len(sets.x)} scenes with their truth and the answers of models. cPSNR: "
        f"{sets.means(ratios, 2)}.",
    )


def _error(output: Tensor, target: Tensor) -> Tensor:
    """Return the error at the best shift, without its mean, made stronger, ``(1, h, w)``."""
    inner, truth, clear = best_window(output, target)
    difference = torch.where(clear, inner - truth, torch.nan)
    centred = (difference - difference.nanmean()).nan_to_num(0.0)
    return STRONGER * centred
