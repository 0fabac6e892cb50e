"""Tables, figures and pages of results, for the tools and for the experiments."""

from symsets.pages.drawing import Picture
from symsets.pages.render import to_markdown, to_rich
from symsets.pages.tables import Cell, Table, duration
from symsets.pages.writing import write_page

__all__ = ["Cell", "Picture", "Table", "duration", "to_markdown", "to_rich", "write_page"]
