"""Draw what networks make of the first sets of a study, without the page around it.

``python docs/figures/answers.py results/colors-on-embedded docs/figures/colors.png --sets 2``
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from symsets.experiments.report._answers import Sets
from symsets.experiments.report.examples import KINDS, read_examples
from symsets.experiments.report.load_records import load_records


def first(sets: Sets, num: int) -> Sets:
    """The first few of some sets; their answers as those of the one run there is."""
    answers = {m: replace(a, output=a.output[:num], seed=0) for m, a in sets.answers.items()}
    return replace(sets, x=sets.x[:num], target=sets.target[:num], answers=answers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", type=int, default=1)
    parser.add_argument("--dpi", type=int, default=110)
    options = parser.parse_args()
    (comparison,) = load_records([options.study]).comparisons
    sets = read_examples(comparison)
    if sets is None:
        raise SystemExit(f"{options.study} has no example sets")
    drawn = KINDS[comparison.experiment].draw(first(sets, options.sets))
    drawn.figure.savefig(options.out, dpi=options.dpi)
    print(f"{drawn.description}\nwritten to {options.out}")


if __name__ == "__main__":
    main()
