"""Write the report: one page that needs nothing else, Markdown, and figures as files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from symsets._files import below, reading
from symsets.data.folders import STUDY
from symsets.data.splits import group_by
from symsets.experiments.report.comparison import Comparison
from symsets.experiments.report.examples import examples as draw_examples
from symsets.experiments.report.figures import pictures
from symsets.experiments.report.headline import headline
from symsets.experiments.report.load_records import Results, load_records
from symsets.experiments.report.published import published
from symsets.experiments.report.tables import parts_table, results_table, search_table, skip_table
from symsets.experiments.report.verdicts import RULE, Verdict, verdicts
from symsets.pages.drawing import Picture
from symsets.pages.render import code_block, to_markdown
from symsets.pages.styles import rank, style_of
from symsets.pages.tables import Table
from symsets.pages.writing import write_page

PAGES = Path(__file__).parent


@dataclass(frozen=True)
class Report:
    """What was written, and the tables to print."""

    html: Path
    markdown: Path
    figures: tuple[Path, ...]
    headlines: tuple[str, ...]
    tables: tuple[Table, ...]
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True)
class Section:
    """Everything about one comparison."""

    name: str
    experiment: str
    headline: str
    table: Table
    parts: Table | None
    pictures: tuple[Picture, ...]
    verdicts: tuple[Verdict, ...]


def write(
    directories: Iterable[Path | str], out: Path | str | None = None, *, examples: bool = True
) -> Report:
    """Write ``report.html``, ``report.md`` and ``figures/`` of one or more studies.

    Args:
        directories: Folders with a ``results.json`` each, as ``symsets run`` leaves them.
        out: The HTML file; ``report.html`` in the first folder if left out. Others go beside it.
        examples: Show example sets where a study has kept some. They are pictures of the data:
            leave them out of a page that is passed on where the data may not be.

    Raises:
        ValueError: If a folder holds no results, or what it holds cannot be read.
    """
    results = load_records(directories)
    html = results.directories[0] / "report.html" if out is None else Path(out)
    if html.suffix not in (".html", ".htm"):
        raise ValueError(f"out must end in .html, got {str(html)!r}")
    # Settings that the paper has no numbers for come last.
    in_order = sorted(results.comparisons, key=lambda c: c.setting != "" and not c.printed)
    by_experiment = group_by(in_order, lambda c: c.experiment)
    sections = [_section(c, found, examples) for found in by_experiment.values() for c in found]
    more = (
        *(section.parts for section in sections if section.parts),
        *(skip_table(_about(path), rows) for path, rows in results.skips.items()),
        *(_search(path, rows, results) for path, rows in results.searches.items()),
    )
    html.parent.mkdir(parents=True, exist_ok=True)
    folder = below(html.parent, "figures")
    figures = tuple(p.save_png(folder) for s in sections for p in s.pictures)
    markdown = html.with_suffix(".md")
    content = _content(results, sections, more)
    for path, page in ((html, "page.html"), (markdown, "page.md")):
        write_page(path, PAGES / page, content)
    told = [section for section in sections if section.headline]
    return Report(
        html=html,
        markdown=markdown,
        figures=figures,
        headlines=tuple(
            s.headline if len(sections) == 1 else f"{s.name}: {s.headline}" for s in told
        ),
        tables=(*(section.table for section in sections), *more),
        verdicts=tuple(verdict for section in sections for verdict in section.verdicts),
    )


def _section(comparison: Comparison, chapter: Sequence[Comparison], examples: bool) -> Section:
    """Make a section, named by its setting and all else in which the chapter's differ."""
    words = ("data", "recipe", "preset", "split")
    telling = [word for word in words if len({getattr(other, word) for other in chapter}) > 1]
    found = filter(None, (getattr(comparison, word) for word in telling))
    name = " · ".join([comparison.name, *found])
    shown = draw_examples(comparison) if examples else None
    parts = parts_table(comparison)
    return Section(
        name=name,
        experiment=comparison.experiment,
        headline=headline(comparison),
        table=replace(results_table(comparison), title=name),
        parts=parts and replace(parts, title=f"{name}, parts"),
        pictures=(*pictures(comparison), *([shown] if shown else [])),
        verdicts=tuple(verdicts(comparison, chapter)),
    )


def _about(path: Path) -> str:
    """Return what a file such as ``search-points.json`` is about."""
    return path.stem.partition("-")[2]


def _search(path: Path, rows: dict[str, dict[str, float]], results: Results) -> Table:
    metric = published(results.experiments.get(path.parent, "")).metric
    if (told := path.parent / STUDY).exists():
        with reading(told, "the description of a study") as config:
            metric = "loss" if config.get("keep") == "loss" else metric
    name = "-".join(filter(None, [path.parent.name, _about(path)]))
    return search_table(name, rows, metric or "accuracy")


def _content(results: Results, sections: list[Section], more: tuple[Table, ...]) -> dict[str, Any]:
    """Return the variables of the templates."""
    models = sorted({record.model for record in results.records}, key=rank)
    chapters = group_by(sections, lambda section: section.experiment)

    def every(word: str) -> list[str]:
        return [v for v in dict.fromkeys(getattr(r, word) for r in results.records) if v]

    return {
        "title": ", ".join(chapters),
        "chapters": chapters,
        "tasks": {name: published(name).task for name in chapters},
        "sections": sections,
        "more": more,
        "num_runs": results.num_runs,
        "num_failed": results.num_failed,
        "num_models": len(models),
        "meanings": {style_of(m).label: style_of(m).meaning for m in models if style_of(m).meaning},
        "commands": every("command"),
        "origin": {
            "devices": every("device"),
            "torch": every("torch"),
            "symsets": every("symsets"),
            "commits": every("commit"),
        },
        "rule": RULE if any(section.verdicts for section in sections) else "",
        "to_markdown": to_markdown,
        "code_block": code_block,
        "by_reason": lambda verdicts: group_by(verdicts, lambda v: (v.state, v.reason)),
    }
