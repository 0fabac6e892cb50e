"""Pages that are written by scripts are what the scripts write."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_list_of_public_names_is_up_to_date(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    written = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert import_module("api").text() == written, "run python docs/api.py"


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
