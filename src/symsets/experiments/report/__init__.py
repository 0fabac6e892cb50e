"""Tables, figures and the page of finished runs."""

from symsets.experiments.report.load_records import Results, load_records
from symsets.experiments.report.page import Report, write
from symsets.experiments.report.render import to_markdown, to_rich

__all__ = ["Report", "Results", "load_records", "to_markdown", "to_rich", "write"]
