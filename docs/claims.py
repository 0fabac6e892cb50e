"""Judge the paper's claims: ``python docs/claims.py`` prints the table that the site shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from symsets.experiments.report.comparison import Comparison
from symsets.experiments.report.load_records import load_records
from symsets.experiments.report.verdicts import RULE, Verdict, verdicts

ROOT = Path(__file__).parents[1]
STUDIES = {  # of full size, and the page that says more
    "signals": "signals.md",
    "signals-published": "signals.md",
    "frames": "images.md#frames",
    "shapes": "shapes.md",
    "quality": "images.md#quality",
    "colors": "images.md#colors",
    "colors-celeba": "images.md#colors",
    "bursts": "images.md#bursts",
    "views": "views.md",
}
WORDS = {
    "holds": "**holds**",
    "does not hold": "**does not hold**",
    "cannot be judged yet": "cannot be judged",
}
HEAD = "| | the paper says | here | because | trained |\n|---|---|---|---|---|"


def every() -> Iterator[tuple[str, str, Verdict]]:
    """All verdicts, with their experiment and its page."""
    for folder, page in STUDIES.items():
        comparisons = load_records([ROOT / "results" / folder]).comparisons
        for comparison in comparisons:
            recipe = "" if comparison.recipe == "ours" else f", recipe {comparison.recipe}"
            for verdict in verdicts(comparison, comparisons):
                yield f"{comparison.name}{recipe}", page, verdict


def summary() -> str:
    """How many claims hold, in a sentence."""
    states = Counter(verdict.state for _, _, verdict in every() if not verdict.missing)
    return (
        f"Of {states.total()} comparisons with what the paper says {states['holds']} agree, "
        f"{states['does not hold']} do not, and {states['cannot be judged yet']} cannot be judged."
    )


def left_out() -> str:
    """What is not in the table, in a sentence."""
    names = Counter(name for name, _, verdict in every() if verdict.missing)
    listed = ", ".join(f"{num} on {name}" for name, num in names.items())
    return f"Not counted are those with networks that were not run: {listed}."


def row(name: str, page: str, verdict: Verdict) -> str:
    """One line of the table."""
    claim = verdict.claim
    reading = f" ({claim.reading})" if claim.reading else ""
    return (
        f"| [{name}]({page}) | {claim.sentence} | {WORDS[verdict.state]} "
        f"| {verdict.reason}{reading} | {trained(verdict.comparison)} |"
    )


def trained(comparison: Comparison) -> str:
    """For how many epochs, and on which data, beside what the paper did."""
    paper, limits = comparison.paper, {comparison.epochs(m) for m in comparison.models} - {0}
    epochs = "–".join(str(limit) for limit in sorted({min(limits), max(limits)}))
    of = f" (paper: {comparison.published_epochs})" if comparison.published_epochs else ""
    same = comparison.data.startswith(paper.data)
    data = "the paper's data" if same else f"{comparison.data} (paper: {' / '.join(paper.data)})"
    return f"{epochs} epochs{of}, {data}"


def text() -> str:
    """Return the rule, a summary and the table, as Markdown."""
    table = "\n".join([HEAD, *(row(*one) for one in every() if not one[2].missing)])
    return f"{RULE}\n\n{summary()} {left_out()}\n\n{table}\n"


if __name__ == "__main__":
    print(text())
