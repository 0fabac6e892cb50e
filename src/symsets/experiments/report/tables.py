"""Tables of results, as one object that the terminal, Markdown and HTML all show."""

import math
from collections.abc import Iterable

from symsets.experiments.report.comparison import Comparison, Score
from symsets.experiments.report.load_records import Numbers
from symsets.experiments.report.metrics import MetricDisplay, display_of
from symsets.experiments.report.published import published
from symsets.pages.styles import BASELINES, rank, style_of
from symsets.pages.tables import Cell, Table, duration

NOTHING = "–"


def results_table(comparison: Comparison) -> Table:
    """Return every model's mean ± std over initialisations beside the published number.

    Of several sizes of training sets all but the largest have the first metric alone.
    """
    paper = comparison.paper
    # A published baseline gives our numbers a meaning, even if we did not compute it.
    models = sorted({*comparison.models, *{*comparison.printed} & {*BASELINES}}, key=rank)
    columns: dict[str, list[Cell]] = {}
    for size in comparison.sizes:
        runs = [comparison.score(model, size=size).count for model in models]
        for m in comparison.metrics if size == comparison.largest else comparison.metrics[:1]:
            scores = [comparison.score(model, metric=m.name, size=size) for model in models]
            columns[_head(size, m, comparison)] = _scores(scores, m, runs)
            if (size, m.name) == (comparison.largest, paper.metric):
                columns[_origin(comparison)] = [_published(comparison, model) for model in models]
    main = [comparison.score(model) for model in models]
    columns |= {
        "runs": [Cell(_runs(comparison, model)) for model in models],
        "epochs": [Cell(str(comparison.epochs(model) or NOTHING)) for model in models],
        "parameters": [Cell(_parameters(score.parameters)) for score in main],
        "time per run": [Cell(duration(s.seconds) if s.seconds else NOTHING) for s in main],
    }
    said = {k: cells for k, cells in columns.items() if any(c.text != NOTHING for c in cells)}
    return _of_models(comparison.name, _caption(comparison), models, said)


def parts_table(comparison: Comparison) -> Table | None:
    """Return the first metric of every model on parts or variants of the test sets, if any."""
    parts, m = comparison.by_part, comparison.metrics[0]
    if not parts:
        return None
    models = [x for x in comparison.models if any(x in scores for scores in parts.values())]
    columns = {}
    for part, scores in parts.items():
        found = [scores.get(model, Score(())) for model in models]
        columns[f"{part}{_count(scores.values())}"] = _scores(found, m, [0] * len(models))
    caption = (
        f"{m.header[:1].upper()}{m.header[1:]}; on parts of the test sets, or on variants of them"
        f"{', as many as in brackets' if any('(' in head for head in columns) else ''}; "
        f"mean ± standard deviation over initialisations{'; bold: best' if m.better else ''}; "
        f"data: {comparison.data}."
    )
    return _of_models(f"{comparison.name}, parts", caption, models, columns)


def _of_models(
    title: str, caption: str, models: list[str], columns: dict[str, list[Cell]]
) -> Table:
    """Return a table with a row for each model."""
    labels = [Cell(style_of(model).label) for model in models]
    rows = tuple(zip(labels, *columns.values(), strict=True))
    return Table(title, caption, ("model", *columns), rows)


def _count(scores: Iterable[Score], what: str = "") -> str:
    """Return the number of test sets in brackets, where the records that have one agree."""
    counts = {score.test_sets for score in scores if score.test_sets}
    return f" ({counts.pop():,}{what})" if len(counts) == 1 else ""


def search_table(name: str, search: Numbers, by: str = "accuracy") -> Table:
    """Return the validation metric of each model at each learning rate that was tried."""
    rates = sorted({rate for tried in search.values() for rate in tried}, key=float, reverse=True)
    m, rows = display_of(by), []
    for model in sorted(search, key=rank):
        tried = {rate: v for rate, v in search[model].items() if math.isfinite(v)}
        best = (min if m.better == "lower" else max)(tried, key=tried.__getitem__, default=None)
        shown = {rate: Cell(m.show(v), rate == best) for rate, v in tried.items()}
        missing = {rate: Cell("failed" if rate in search[model] else NOTHING) for rate in rates}
        rows.append((Cell(style_of(model).label), *(missing | shown).values()))
    title, caption = f"Learning-rate search ({name})", f"On validation: {m.header}; bold: the rate"
    return Table(title, f"{caption} that was chosen by it.", ("model", *rates), tuple(rows))


def skip_table(data: str, found: Numbers) -> Table:
    """Return how often the mean shape is the central one, by the distance between frames."""
    m = display_of("accuracy")
    printed = published("shapes").mean_shape_by_skip
    lines = {**found, "published (D-FAUST), validation": printed}
    skips = sorted({skip for line in lines.values() for skip in line}, key=int)
    return Table(
        title=f"Mean shape by skip ({data})",
        caption=f"Choosing the shape nearest to the mean of its set: {m.header}. The skip is the "
        "distance between frames of a set, in frames of the motion.",
        columns=("skip", *skips),
        rows=tuple(
            (Cell(name), *(Cell(m.show(line[s]) if s in line else NOTHING) for s in skips))
            for name, line in lines.items()
        ),
    )


def _head(size: int, m: MetricDisplay, comparison: Comparison) -> str:
    """Name a column by what differs between columns: the size, the metric or both."""
    if len(comparison.sizes) == 1:
        return m.header
    sets = f"{size:,} sets"
    return sets if len(comparison.metrics) == 1 else f"{sets}: {m.header}"


def _caption(comparison: Comparison) -> str:
    c, sizes, metrics = comparison, comparison.sizes, comparison.metrics
    counted = [s for (_, name, _), s in c.scores.items() if name == metrics[0].name]
    num = _count(counted, " sets") if all(score.test_sets for score in counted) else ""
    parts = [
        metrics[0].header if len(metrics) == 1 else "",
        f"{c.split} split{num}",
        "mean ± standard deviation over initialisations",
        "bold: best" if any(m.better for m in metrics) else "",
        _chance(comparison),
        f"data: {c.data or 'not named'}",
        f"recipe: {c.recipe}",
        f"preset: {c.preset}" if c.preset else "",
        f"{sizes[0]:,} training sets" if len(sizes) == 1 and sizes[0] else "",
    ]
    text = "; ".join(part for part in parts if part)
    text = f"{text[0].upper()}{text[1:]}."
    if c.paper.metric and not c.printed:
        only = f", only for {', '.join(c.paper.settings)}" if c.paper.settings else ""
        text += f" The paper prints no numbers for this{only}"
        text += ", but makes claims." if c.paper.claims else "."
    return text


def _chance(comparison: Comparison) -> str:
    """Return the accuracy of a random choice in words, unless it has a row in the table."""
    level = comparison.paper.chance_at(comparison.setting)
    measured = any(m.name == "accuracy" for m in comparison.metrics)
    told = level is not None and measured and "random" not in comparison.printed
    return f"chance: {100 * level:.1f} %" if told and level is not None else ""


def _scores(scores: list[Score], m: MetricDisplay, runs: Iterable[int]) -> list[Cell]:
    """Return means ± std, the best in bold; runs are how many there are of each model."""
    best = m.best([score.mean for score in scores if score.values])
    cells = []
    for score, num_runs in zip(scores, runs, strict=True):
        if not score.count:
            cells.append(Cell(NOTHING))
        elif not score.values:
            cells.append(Cell("failed", note=f"{score.failed} of {score.count}"))
        else:
            some = f"{score.count} of {num_runs} runs" if score.count < num_runs else ""
            failed = f"{score.failed} failed" if score.failed else ""
            is_best = best is not None and m.same(score.mean, best)
            note = ", ".join(filter(None, (some, failed)))
            cells.append(Cell(m.show(score.mean, score.std), is_best, note))
    return cells


def _origin(comparison: Comparison) -> str:
    """Name the column of published numbers by their data, if ours are others, and their epochs."""
    paper, epochs = comparison.paper, comparison.published_epochs
    same_data = comparison.data.startswith(paper.data)
    words = ["" if same_data else " / ".join(paper.data), f"{epochs} epochs" if epochs else ""]
    return ", ".join(["published", *filter(None, words)])


def _published(comparison: Comparison, model: str) -> Cell:
    paper = comparison.paper
    number = paper.numbers.get((comparison.setting, model))
    return Cell(display_of(paper.metric).show(number.mean, number.std) if number else NOTHING)


def _runs(comparison: Comparison, model: str) -> str:
    """Return the number of runs per cell that has any: one number if all of the row agree."""
    counts = {comparison.score(model, size=size).count for size in comparison.sizes} - {0}
    if not counts:
        return NOTHING
    low, high = min(counts), max(counts)
    return str(high) if low == high else f"{low}–{high}"


def _parameters(number: int) -> str:
    if number < 10_000:
        return f"{number:,}" if number else NOTHING
    return f"{number / 1e3:.0f} k" if number < 1_000_000 else f"{number / 1e6:.2f} M"
