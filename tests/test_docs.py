"""What pages say about this project is true: links, names, scripts, claims."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import symsets

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
TUTORIALS = sorted({*DOCS.glob("tutorials/*.md")} - {DOCS / "tutorials" / "index.md"})


def test_the_first_page_says_how_many_claims_hold(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    assert import_module("claims").summary() in (ROOT / "README.md").read_text("utf-8")


TABLE = {  # row of the README: study, which of its records, setting and unit of published numbers
    "[signals](docs/signals.md), 30,000 sets: accuracy, %": ("signals", "train_size=30000", None),
    "[colors](docs/images.md), Places: error in grey levels": ("colors", "metric=mae", "places"),
    "[bursts](docs/images.md): error in grey levels": ("bursts", "metric=mae", ""),
    "[frames](docs/images.md): accuracy, %": ("frames", "metric=accuracy", ""),
    "[quality](docs/images.md), noise of 30: accuracy, %": (
        "quality",
        "setting=gaussian-30",
        "gaussian-30",
    ),
    "[shapes](docs/shapes.md), points: accuracy, %": ("shapes", "setting=points", "points"),
}


def expected_row(measurements, study, which, setting):
    """The cells of a row of the README: ours and published, Siamese+DS and DSS(sum)."""
    scale = 100 if measurements.read(study)[0]["metric"].startswith("accuracy") else 1
    for model in ("siamese-ds", "dss-sum"):
        keys = f"model={model}&{which}.value mean times {scale}"
        yield measurements.shown(measurements.read(study), keys, ".2f")
    tables = [] if setting is None else measurements.read(f"{study}/published.toml")["tables"]
    numbers = [t["numbers"] for t in tables if t.get("setting", "") == setting]
    for model in ("siamese-ds", "dss-sum"):
        yield f"{numbers[0][model][0]:.2f}" if numbers else "figure only"


def test_the_table_of_the_first_page_is_what_was_measured(measurements):
    text = (ROOT / "README.md").read_text("utf-8")
    table = text.split("*published:* Siamese+DS | DSS(sum) |\n")[1].split("\n\n")[0]
    rows = [[c.strip("* ") for c in line.split("|")[1:-1]] for line in table.splitlines()[1:]]
    assert [row[0] for row in rows] == [*TABLE]
    for name, *cells in rows:
        assert cells == [*expected_row(measurements, *TABLE[name])], name


def test_the_first_page_tells_the_time_of_a_step_as_measured(measurements):
    text = (ROOT / "README.md").read_text("utf-8")
    file = "benchmarks/signals_step_h200.json rows.model=dss-sum&seeds=1&style="
    ours, half, theirs = (
        measurements.number(f"{file}{which}.milliseconds .1f")
        for which in (
            "ours&precision=float32",
            "ours&precision=bfloat16",
            "reference style&precision=float32",
        )
    )
    assert f"{ours} ms\nfor signals on an H200 in float32 ({half} in bfloat16)" in text
    assert f"released way of computing it takes {theirs}." in text


@pytest.fixture
def measurements(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    return import_module("measurements")


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_pages_show_what_was_measured(measurements, page):
    text = page.read_text("utf-8")
    assert measurements.updated(text) == text, "make numbers writes what results/ holds now"


def test_tables_show_entries_of_entries_and_ratios(measurements, monkeypatch):
    content = {"ours": {"a": {"mean": 0.5, "std": 0.125}, "b": 2, "c": None, "d": [1, 2]}}
    monkeypatch.setattr(measurements, "read", lambda name: {"models": content})
    table = measurements.rows(
        "x.json",
        "models",
        ["model: @", "a: a.mean ± a.std .1%", "r: b over a.mean .0f", "c: c d", "d: d .1f"],
    )
    assert table.splitlines()[2] == "| ours | 50.0 ± 12.5 | 4 |  | 1.0, 2.0 |"


def test_a_list_becomes_a_table_by_two_of_its_fields(measurements, monkeypatch):
    content = [
        {"model": m, "noise": n, "seed": s, "psnr": n + s}
        for m in ("dss-sum", "median")
        for n in (10, 25)
        for s in (0, 1)
    ]
    monkeypatch.setattr(measurements, "read", lambda name: {"records": content})
    table = measurements.pivot(
        "x.json",
        "records",
        ["rows: model", "columns: noise", "value: psnr .1f", "only: model!=median"],
    )
    assert table.splitlines() == [
        "|  | noise 10 | noise 25 |",
        "| :-- | --: | --: |",
        "| DSS(sum) | 10.5 | 25.5 |",
    ]


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        ("a.x=1.y mean .1f", "3.0"),
        ("a.x=1.y max d", "4"),
        ("a.x=2.y minus a.x=1.y max d", "−5"),
        ("a.x=2.y over 4 .2%", "−25.00 %"),
        ("b .1e", "2.4e-3"),
    ],
)
@pytest.mark.parametrize("before", ["?", "7", "−1,234.5", "2e-3", "12 %", "dss-sum"])
def test_numbers_take_the_place_of_others(measurements, monkeypatch, wanted, shown, before):
    content = {"a": [{"x": 1, "y": 2}, {"x": 1, "y": 4}, {"x": 2, "y": -1}], "b": 0.0024}
    monkeypatch.setattr(measurements, "read", lambda name: content)
    text = f"| of 3, (**{{}}<!-- from x.json {wanted} -->** |"
    assert measurements.updated(text.format(before)) == text.format(shown)


def test_a_list_of_numbers_takes_the_place_of_as_many(measurements, monkeypatch):
    monkeypatch.setattr(measurements, "read", lambda name: {"runs": [1.0, 2.5]})
    text = "three runs, 3, {}<!-- from x.json runs .1f -->."
    assert measurements.updated(text.format("1.1, 2.2")) == text.format("1.0, 2.5")
    with pytest.raises(ValueError, match="must stand before the comment 'from x"):
        measurements.updated("runs: <!-- from x.json runs .1f -->")


def test_a_table_takes_the_place_of_another(measurements, monkeypatch):
    monkeypatch.setattr(measurements, "read", lambda name: {"rows": {"a": {"b": 1}}})
    text = "<!-- rows x.json rows\nname: @\nb: b .1f\n-->\n{}<!-- end -->\n\nMore."
    table = "\n| name | b |\n| :-- | --: |\n| a | 1.0 |\n\n"
    for before in ("", "anything\n", table):
        assert measurements.updated(text.format(before)) == text.format(table)


def test_a_row_is_found_by_its_fields_and_must_be_the_only_one(measurements):
    content = {"rows": [{"k": 1, "x": 3}, {"k": 2, "x": 4}, {"k": 2, "x": 5}]}
    assert measurements.entry(content, "rows.k=2&x=4.x") == 4
    with pytest.raises(ValueError, match="too many values"):
        measurements.entry(content, "rows.k=2.x")


ORIGIN = re.compile(  # words by which a number that was not read from results/ says what it is
    r"commit|published|paper|counted|bound|chance|holds it to|Python|torch"
    r"|CC BY|checked against",
    re.I,
)
SETTINGS = {  # numbers that nobody has measured
    ("images.md", "50 %"),  # lost pixels
    ("images.md", "1.7"),  # MB of a clip
    ("views.md", "10 %"),  # a split
    ("subgraphs.md", "90 %"),  # nine classes of ten
}


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_numbers_come_from_results_or_say_where_from(measurements, page):
    """A figure that somebody typed is not checked by anything, so it must name its origin."""
    text, number = page.read_text("utf-8"), measurements.NUMBER
    # the head of a notebook; code; what is read from results/; formulas
    measured = (measurements.BLOCK.pattern, rf"(?:{number}, )*{number}{measurements.FROM.pattern}")
    for part in (r"^---\n.*?^---\n", r"^```.*?^```$", *measured, r"\$\$.*?\$\$"):
        text = re.sub(part, "", text, flags=re.M | re.S)
    text = re.sub(r"`[^`]+`|\$[^$]+\$|\]\([^)]+\)", "", text)
    for paragraph in re.split(r"\n\s*\n|\n(?=- |\| )", text):
        figures = re.findall(
            r"(?<![\w./=@-])\d+\.\d+(?![\w.-])|\d+(?:\.\d+)? ?(?:%|ms|dB)\b|\d+ %", paragraph
        )
        typed = [figure for figure in figures if (page.name, figure) not in SETTINGS]
        assert not typed or ORIGIN.search(paragraph), (typed, paragraph)


def anchor(heading):
    """Return the anchor that a heading gets where Markdown is shown."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_inside_the_project_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("http"):
            continue
        path, _, part = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), target
        if part:
            headings = re.findall(r"^#+ (.*)$", found.read_text(encoding="utf-8"), re.MULTILINE)
            assert part in map(anchor, headings), target


@pytest.mark.parametrize("example", sorted(ROOT.glob("examples/*.py")), ids=lambda path: path.stem)
def test_a_page_leads_to_every_example(example):
    assert any(f"/examples/{example.name})" in page.read_text("utf-8") for page in PAGES)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorials_are_notebooks_whose_cells_are_python(page):
    """``make docs`` runs them; a misspelled word of Python is found here."""
    text = page.read_text("utf-8")
    assert text.startswith("---\nfile_format: mystnb\n")
    cells = re.findall(r"^```{code-cell}\n(?::.*\n)*(.*?)^```$", text, re.M | re.S)
    assert cells
    for cell in cells:
        compile(cell, page.name, "exec")


def listed(page):
    """The pages that the navigation of a page leads to."""
    for block in re.findall(r"<!-- {toctree}\n(.*?)-->", page.read_text("utf-8"), re.S):
        for line in block.splitlines():
            if line and not line.startswith(":") and "<" not in line:
                yield (page.parent / f"{line}.md").resolve()


def test_the_navigation_leads_to_every_page():
    pages = {*DOCS.rglob("*.md")}
    found = {one for page in pages for one in listed(page)}
    assert found | {DOCS / "index.md"} == pages


def resolve(name):
    """Return what a dotted name stands for; AttributeError or ImportError if it is nothing."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        parent, _, last = name.rpartition(".")
        return getattr(resolve(parent), last)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_of_the_library_are_there(page):
    text = page.read_text(encoding="utf-8")
    names = set(re.findall(r"`(symsets(?:\.\w+)+)", text))
    for module, imported in re.findall(r"^(?:>>> )?from (symsets[\w.]*) import (.+)$", text, re.M):
        names |= {f"{module}.{name.strip()}" for name in imported.split(",")}
    for name in names:
        resolve(name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_scripts_that_pages_name_are_there(page):
    text = page.read_text(encoding="utf-8")
    for name in set(re.findall(r"\b(?:benchmarks|docs|examples|tests|src)/[\w/]+\.py\b", text)):
        assert (ROOT / name).is_file(), name


@pytest.mark.parametrize("package", ["data", "experiments", "lift", "models", "nn", "train"])
def test_methods_have_a_docstring_or_override_one_that_has(package):
    root = Path(symsets.__file__).parent
    for path in (root / package).rglob("*.py"):
        place = path.relative_to(root.parent).with_suffix("")
        module = import_module(".".join(place.parts).removesuffix(".__init__"))
        for kind in (value for value in vars(module).values() if isinstance(value, type)):
            for name in vars(kind) if kind.__module__ == module.__name__ else ():
                member = getattr(kind, name)
                if not name.startswith("_") and (callable(member) or isinstance(member, property)):
                    assert kind.__name__.startswith("_") or inspect.getdoc(member), f"{kind}.{name}"


def test_the_package_names_the_versions_of_python_that_are_tested():
    named = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text("utf-8"))
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text("utf-8")
    assert named == re.findall(r"3\.\d+", workflow.split("python: [")[1].split("]")[0])
