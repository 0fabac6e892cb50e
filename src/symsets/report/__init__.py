"""Tables, figures and the page of finished runs."""

from symsets.report.gather import Study, gather
from symsets.report.page import Report, write
from symsets.report.render import to_markdown, to_rich

__all__ = ["Report", "Study", "gather", "to_markdown", "to_rich", "write"]
