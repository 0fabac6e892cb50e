"""Write a page from a template: HTML that needs nothing else, or Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from symsets._extras import require
from symsets._files import atomic_write
from symsets.pages.render import escape_markdown


def write_page(path: Path, template: Path, content: dict[str, Any]) -> None:
    """Write a page from a template of Jinja, which may use those beside this module.

    Where ``path`` ends in ``.html``, values are escaped for HTML, else for Markdown.
    """
    jinja2 = require("jinja2", "experiments")
    is_html = path.suffix in (".html", ".htm")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([template.parent, Path(__file__).parent]),
        autoescape=is_html,
        finalize=None if is_html else escape_markdown,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    text = environment.get_template(template.name).render(content)
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8", errors="replace")  # paths may hold stray bytes
