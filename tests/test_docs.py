"""Pages that are written by scripts are what the scripts write."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import symsets

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TUTORIALS = [page for page in PAGES if page.parent.name == "tutorials"]


@pytest.mark.parametrize("page", ["api", "claims"])
def test_pages_that_are_written_by_scripts_are_up_to_date(page, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    written = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert import_module(page).text() == written, f"run python docs/{page}.py"


def test_the_first_page_says_how_many_claims_hold(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    assert import_module("claims").summary() in (ROOT / "README.md").read_text("utf-8")


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


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_belongs_to_an_example_and_the_guide_leads_to_it(page):
    assert (ROOT / "examples" / f"{page.stem}.py").is_file()
    assert f"](tutorials/{page.name})" in (ROOT / "docs" / "guide.md").read_text("utf-8")


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


@pytest.mark.parametrize("package", ["nn", "lift", "models", "train"])
def test_methods_have_a_docstring_or_override_one_that_has(package):
    for path in (Path(symsets.__file__).parent / package).glob("*.py"):
        module = import_module(f"symsets.{package}.{path.stem}")
        for kind in (value for value in vars(module).values() if isinstance(value, type)):
            for name in vars(kind) if kind.__module__ == module.__name__ else ():
                member = getattr(kind, name)
                if not name.startswith("_") and (callable(member) or isinstance(member, property)):
                    assert kind.__name__.startswith("_") or inspect.getdoc(member), f"{kind}.{name}"
