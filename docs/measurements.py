"""Write what was measured into the pages: ``python docs/measurements.py``, or ``make numbers``.

Pages hold their numbers and tables, and say in comments which of ``results/`` they are, so that a
page reads well wherever it is shown. The numbers are brought up to date here, and a test compares
them.

- ``0.5<!-- from benchmarks/folder_speed.json speeds.streamed over speeds.memory .2f -->``: a number
  of a file; also ``a minus b``, ``a times b``, and ``colors model=dss-sum.value mean .2f`` of the
  records of a study (``mean``, ``std``, ``min``, ``max``, ``count``). For a new number, write ``?``
  in its place.
- A table stands between ``<!-- KIND … -->`` and ``<!-- end -->``, where it says what it shows:

  - ``study signals``: the tables of a study, as ``symsets report`` makes them.
  - ``claims``: what the paper says, and whether our studies agree.
  - ``rows benchmarks/layer_cost.json ratios``: a row for each entry of a JSON file. Every line
    that follows is a column, ``head: key format``; ``@`` is the name of the row, ``a.b`` an entry
    of an entry, and ``a ± b`` shows two of them.
  - ``pivot benchmarks/merging_bm3d.json records``: a list of measurements as a table, with
    ``rows: row``, ``columns: noise, shift``, ``value: psnr .2f`` and, for a part of the list,
    ``only: shots=5``.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from operator import mul, sub, truediv
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import claims

from symsets.experiments.report.load_records import load_records
from symsets.experiments.report.tables import parts_table, results_table
from symsets.pages import to_markdown
from symsets.pages.styles import style_of

RESULTS = Path(__file__).parents[1] / "results"
PUBLISHED = RESULTS.parent / "src" / "symsets" / "experiments"
PAGES = Path(__file__).parent
NUMBER = r"−?\w[\w.,+-]*(?: %)?"  # or the name of a model
FROM = re.compile(r"<!-- from (.+?) -->")
BLOCK = re.compile(
    r"(?P<head><!-- (?P<kind>study|claims|rows|pivot)\b(?P<words>[^\n]*?)(?P<lines>\n[^<]*)?-->\n)"
    r".*?<!-- end -->",
    re.S,
)
SIGNS = {"over": truediv, "minus": sub, "times": mul}
STATISTICS = {"mean": mean, "std": stdev, "min": min, "max": max, "count": len}


@cache
def read(name: str) -> Any:
    """Return the content of a file under ``results/``; of a study (``"colors"``), its records.

    ``"satellite/published.toml"`` is what others printed about an experiment, ``"colors/curves"``
    what was measured during training: every line of every run's learning curve.
    """
    if name.endswith("/curves"):
        return list(_curves(RESULTS / name.removesuffix("/curves")))
    if name.endswith(".toml"):
        return tomllib.loads((PUBLISHED / name).read_text(encoding="utf-8"))
    if name.endswith(".json"):
        return json.loads((RESULTS / name).read_text(encoding="utf-8"))
    return read(f"{name}/results.json")["records"]


def _curves(study: Path) -> Iterator[dict[str, Any]]:
    """Give the lines of all curves of a study, with the run that they are of."""
    for path in sorted(study.glob("runs/*/done.json")):
        run = json.loads(path.read_text(encoding="utf-8"))
        if columns := run["curves"]:
            about = {key: run["config"][key] for key in ("model", "setting", "train_size", "seed")}
            for line in zip(*columns.values(), strict=True):
                yield about | dict(zip(columns, line, strict=True))


def entries(content: Any, keys: str) -> list[Any]:
    """Return entries of entries: ``"speeds.memory"``; of a list, all that match ``"k=1&x=3"``."""
    found = [content]
    for key in filter(None, keys.split(".")):
        found = [part for each in found for part in _inside(each, key)]
    return found


def entry(content: Any, keys: str) -> Any:
    """Return the one entry that matches: ``"rows.style=ours&seeds=1.ratio"``."""
    (found,) = entries(content, keys)
    return found


def _inside(content: Any, key: str) -> list[Any]:
    """Return what a dictionary has under a key, or the members of a list with these fields."""
    if isinstance(content, dict):
        return [content[key]]
    wanted = [re.split("(!?=)", part) for part in key.split("&")]
    return [
        each
        for each in content
        if all((str(each[field]) == text) == (sign == "=") for field, sign, text in wanted)
    ]


def value(content: Any, keys: str) -> Any:
    """Return a number, an entry, or a statistic of several entries (``"k=1.x mean"``)."""
    keys, _, statistic = keys.strip().rpartition(" ")
    if keys and statistic in STATISTICS:
        return STATISTICS[statistic](entries(content, keys))
    keys = f"{keys} {statistic}".strip()
    return float(keys) if re.fullmatch(r"[\d.]+", keys) else entry(content, keys)


def shown(content: Any, keys: str, form: str) -> str:
    """Return an entry, or ``a over b`` (``minus``, ``times``), formatted; all of a list."""
    first, sign, second = [*re.split(f" ({'|'.join(SIGNS)}) ", keys), "", ""][:3]
    found = value(content, first)
    if found is None:
        return ""
    found = found if isinstance(found, list) else [found]
    if sign:
        other = value(content, second)
        found = [SIGNS[sign](x, other) for x in found]
    return ", ".join(map(partial(_written, form), found))


def _written(form: str, number: Any) -> str:
    """Return a number as pages show it: ``−0.2``, ``12 %``, ``2e-3``."""
    text = re.sub(r"e([-+])0*(\d)", r"e\1\2", format(number, form)).replace("%", " %")
    return f"−{text[1:]}" if text.startswith("-") else text


def number(text: str) -> str:
    """Return a number of a file: ``"benchmarks/bags_time.json times.vectors.bags d"``."""
    name, keys = text.split(None, 1)
    keys, form = keys.rsplit(None, 1)
    return shown(read(name), keys, form)


def cell(name: str, content: Any, column: str) -> str:
    """Return what a column, ``"key form"`` or ``"key ± key form"``, shows; ``@`` is the name."""
    if column == "@":
        return name
    keys, _, form = column.rpartition(" ")
    parts = (shown(content, key.strip(), form).removesuffix(" %") for key in keys.split("±"))
    return " ± ".join(part for part in parts if part)


def rows(name: str, keys: str, columns: Sequence[str]) -> str:
    """Return a table with a row for each entry; a column is ``"head: key form"``."""
    content = entry(read(name), keys)
    named = content.items() if isinstance(content, dict) else enumerate(content)
    heads, wanted = zip(*(column.split(": ", 1) for column in columns), strict=True)
    return _table(heads, (tuple(cell(str(k), row, c) for c in wanted) for k, row in named))


def pivot(name: str, keys: str, options: Sequence[str]) -> str:
    """Return a table of a list: a row and a column for each value of some of its fields.

    Options are ``rows: model``, ``columns: noise, shift``, ``value: psnr .2f``, or
    ``value: a ± b .2f``, and, to take a part of the list, ``only: shots=5&noise!=0``. Several
    entries for one cell are averaged.
    """
    wanted = dict(option.split(": ", 1) for option in options)
    content = entry(read(name), keys) if keys != "." else read(name)
    down, across = (wanted[key].split(", ") for key in ("rows", "columns"))
    words, _, form = wanted["value"].rpartition(" ")
    cells: dict[tuple[str, str], list[Any]] = {}
    for each in _inside(content, wanted["only"]) if "only" in wanted else content:
        cells.setdefault((_label(each, down), _label(each, across)), []).append(each)
    heads = list(dict.fromkeys(head for _, head in cells))
    lines = (
        (row, *(_mean(cells.get((row, head), []), words, form) for head in heads))
        for row in dict.fromkeys(row for row, _ in cells)
    )
    return _table(("", *heads), lines)


def _label(content: Any, fields: Sequence[str]) -> str:
    """Return how a row or column is called; models have the names of the report."""
    words = [style_of(content[f]).label if f == "model" else str(content[f]) for f in fields]
    said = [f"{f} {w}" if w.isdigit() else w for f, w in zip(fields, words, strict=True)]
    return ", ".join(said)


def _mean(entries: Sequence[Any], words: str, form: str) -> str:
    """Return the mean of a field of some entries, or of each of two that ``±`` joins."""
    fields = ([each[field] for each in entries] for field in words.split(" ± "))
    known = ([value for value in values if value is not None] for values in fields)
    return " ± ".join(_written(form, mean(values)) for values in known if values)


def _table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, with numbers on the right."""
    every = [heads, (":--", *["--:"] * (len(heads) - 1)), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in every)


def study(name: str) -> Iterator[str]:
    """Give the tables of a study, as ``symsets report`` makes them, each with its caption."""
    for comparison in load_records([RESULTS / name]).comparisons:
        for table in filter(None, (results_table(comparison), parts_table(comparison))):
            _, caption, lines = to_markdown(table).split("\n\n", 2)
            yield f"**{table.title}.** {caption} From `results/{name}/results.json`.\n\n{lines}"


def table(kind: str, words: Sequence[str], lines: Sequence[str]) -> str:
    """Return what stands between two comments."""
    if kind == "study":
        return "\n\n".join(study(*words))
    if kind == "claims":
        return claims.text()
    return (rows if kind == "rows" else pivot)(*words, lines)


def updated(text: str) -> str:
    """Return a page with the numbers and tables of today's ``results/``."""

    def between(found: re.Match[str]) -> str:
        lines = (found["lines"] or "").strip("\n").splitlines()
        inside = table(found["kind"], found["words"].split(), lines)
        return f"{found['head']}\n{inside.strip()}\n\n<!-- end -->"

    parts = FROM.split(BLOCK.sub(between, text))
    for k in range(1, len(parts), 2):
        new = number(parts[k])
        old = rf"((?:{NUMBER}, ){{{new.count(', ')}}}{NUMBER}|\?)$"
        parts[k - 1], found = re.subn(old, new, parts[k - 1])
        if not found:
            raise ValueError(f"a number, or ?, must stand before the comment 'from {parts[k]}'")
        parts[k] = f"<!-- from {parts[k]} -->"
    return "".join(parts)


def main() -> None:
    """Bring all pages up to date."""
    for page in sorted(PAGES.rglob("*.md")):
        before = page.read_text(encoding="utf-8")
        if (now := updated(before)) != before:
            page.write_text(now, encoding="utf-8")
            print(page)


if __name__ == "__main__":
    main()
