"""Write the report: one page that needs nothing else, Markdown, and figures as files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from symsets._extras import require
from symsets.experiments.report._drawing import Picture, colour_name
from symsets.experiments.report.examples import examples as draw_examples
from symsets.experiments.report.figures import pictures
from symsets.experiments.report.headline import headline
from symsets.experiments.report.load_records import Comparison, Results, load_records
from symsets.experiments.report.models import rank, style_of
from symsets.experiments.report.published import Claim, published
from symsets.experiments.report.render import to_markdown
from symsets.experiments.report.tables import (
    Table,
    parts_table,
    results_table,
    search_table,
    skip_table,
)
from symsets.experiments.report.verdicts import RULE, Verdict, verdicts
from symsets.experiments.report.views import errors_figure

__all__ = ["Report", "write"]


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
    comparison: Comparison
    headline: str
    table: Table
    pictures: tuple[Picture, ...]
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True)
class Chapter:
    """All comparisons of one experiment."""

    experiment: str
    task: str
    sections: tuple[Section, ...]


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
    chapters = _chapters(results, examples=examples)

    def searched(path: Path) -> str:
        return published(results.experiments.get(path.parent, "")).metric or "accuracy"

    sections = [section for chapter in chapters for section in chapter.sections]
    more = (
        *(table for section in sections if (table := _parts(section))),
        *(skip_table(_after_dash(path), found) for path, found in results.skips.items()),
        *(search_table(_about(p), found, searched(p)) for p, found in results.searches.items()),
    )
    html.parent.mkdir(parents=True, exist_ok=True)
    figures = tuple(p.save_png(html.parent / "figures") for s in sections for p in s.pictures)
    markdown = html.with_suffix(".md")
    content = _content(results, chapters, more)
    for path, page in ((html, "page.html"), (markdown, "page.md")):
        text = _rendered(page, content, escape=path is html)
        path.write_text(text, encoding="utf-8", errors="replace")  # paths may hold stray bytes
    return Report(
        html=html,
        markdown=markdown,
        figures=figures,
        headlines=tuple(_with_name(s, sections) for s in sections if s.headline),
        tables=(*(section.table for section in sections), *more),
        verdicts=tuple(verdict for section in sections for verdict in section.verdicts),
    )


def _chapters(results: Results, *, examples: bool) -> list[Chapter]:
    grouped: dict[str, list[Comparison]] = defaultdict(list)
    for comparison in sorted(results.comparisons, key=_is_extra):
        grouped[comparison.experiment].append(comparison)
    return [
        Chapter(name, published(name).task, tuple(_section(c, found, examples) for c in found))
        for name, found in grouped.items()
    ]


def _is_extra(comparison: Comparison) -> bool:
    """Whether the paper has numbers for other settings of the experiment only."""
    setting = comparison.setting
    return bool(setting) and not comparison.paper.models(setting)


def _section(comparison: Comparison, chapter: Sequence[Comparison], examples: bool) -> Section:
    shown, name = draw_examples(comparison) if examples else None, _name(comparison, chapter)
    drawn = (*pictures(comparison), *_by_elements(comparison), *([shown] if shown else []))
    return Section(
        name=name,
        comparison=comparison,
        headline=headline(comparison),
        table=replace(results_table(comparison), title=name),
        pictures=tuple(_told_apart(picture, comparison, chapter) for picture in drawn),
        verdicts=tuple(verdicts(comparison, chapter)),
    )


def _parts(section: Section) -> Table | None:
    """Return the table by source, with the name of the section in its title."""
    table = parts_table(section.comparison)
    return table and replace(table, title=f"{section.name} by source")


def _told_apart(picture: Picture, mine: Comparison, chapter: Sequence[Comparison]) -> Picture:
    """Append a number to a picture's name if an earlier comparison uses the same name."""
    namesakes = [other.key for other in chapter if other.slug == mine.slug]
    number = namesakes.index(mine.key) + 1
    return replace(picture, name=f"{picture.name}-{number}") if number > 1 else picture


def _by_elements(comparison: Comparison) -> list[Picture]:
    """Draw the error against the number of elements, where that was measured."""
    found = comparison.by_elements
    if not found:
        return []
    return [errors_figure(found, name=f"{comparison.slug}-elements", title=comparison.name)]


def _name(comparison: Comparison, chapter: Sequence[Comparison]) -> str:
    """Name a comparison by its setting and all else in which the chapter's comparisons differ."""
    telling = [
        getattr(comparison, word)
        for word in ("data", "recipe", "preset", "split")
        if len({getattr(other, word) for other in chapter}) > 1
    ]
    return " · ".join([comparison.name, *filter(None, telling)])


def _with_name(section: Section, sections: Sequence[Section]) -> str:
    """Return the headline, after the name of its section if there are several."""
    return section.headline if len(sections) == 1 else f"{section.name}: {section.headline}"


def _after_dash(path: Path) -> str:
    return path.stem.partition("-")[2]


def _about(path: Path) -> str:
    return "-".join(filter(None, [path.parent.name, _after_dash(path)]))


def _content(results: Results, chapters: list[Chapter], more: tuple[Table, ...]) -> dict[str, Any]:
    """Return the variables of the templates."""
    models = sorted({record.model for record in results.records}, key=rank)
    return {
        "title": ", ".join(chapter.experiment for chapter in chapters),
        "chapters": chapters,
        "num_sections": sum(len(chapter.sections) for chapter in chapters),
        "more": more,
        "num_runs": results.num_runs,
        "num_failed": results.num_failed,
        "num_models": len(models),
        "meanings": {style_of(m).label: style_of(m).meaning for m in models if style_of(m).meaning},
        "origin": _origin(results),
        "judged": any(s.verdicts for chapter in chapters for s in chapter.sections),
        "rule": RULE,
        "colours": {colour_name(m): (style_of(m).colour, style_of(m).dark) for m in models},
        "css": _template("page.css"),
        "to_markdown": to_markdown,
        "by_reason": _by_reason,
    }


def _by_reason(verdicts: Iterable[Verdict]) -> dict[tuple[str, str], list[Claim]]:
    """Group claims by their verdict and its reason."""
    found: dict[tuple[str, str], list[Claim]] = {}
    for verdict in verdicts:
        found.setdefault((verdict.state, verdict.reason), []).append(verdict.claim)
    return found


def _origin(results: Results) -> dict[str, list[str]]:
    """Return what is needed to reproduce the results."""
    facts = {
        "commands": [record.command for record in results.records],
        "devices": [record.device for record in results.records],
        "torch": [record.torch for record in results.records],
        "symsets": [record.symsets for record in results.records],
        "commits": [record.commit for record in results.records],
    }
    return {name: [v for v in dict.fromkeys(values) if v] for name, values in facts.items()}


def _template(name: str) -> str:
    """Return the text of a file in this package."""
    return resources.files("symsets.experiments.report").joinpath(name).read_text("utf-8")


def _rendered(template: str, content: dict[str, Any], *, escape: bool) -> str:
    jinja2 = require("jinja2", "experiments")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template),
        autoescape=escape,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(template).render(content)
