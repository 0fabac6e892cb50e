"""How far off is the trivial predictor of ``symsets run colors``, in the middle and on the whole?

Run ``python benchmarks/grey_predictor.py [--data PACK] [--out FILE]``. The predictor takes the one
channel it sees for all three. Its error, in grey levels of 255, says how colourful pictures are;
here on the middle 64 pixels of test photographs, which the experiment looks at, and on the whole of
them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from kept import keep
from torch import Tensor

from symsets.data.augment import Augment
from symsets.experiments.study.catalogue import image_source

MOST = 5000  # photographs
SIZE = 64  # px that the experiment looks at


def off(pictures: Tensor) -> float:
    """Return the mean distance between two channels of pictures ``(M, 3, S, S)``."""
    x = pictures.float()
    return round((x[:, :, None] - x[:, None]).abs().mean().item(), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="embedded")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    source = image_source(options.data, size=80, seed=0)
    whole = source.images("test", MOST, "cpu")
    errors = {"middle": off(Augment(SIZE)(whole[:, None], move=False)[:, 0]), "whole": off(whole)}
    print(f"{source.name}, {len(whole)} photographs: {errors}")
    keep(options.out, data=source.name, photos=len(whole), mae=errors)


if __name__ == "__main__":
    main()
