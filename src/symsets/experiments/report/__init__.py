"""Tables, figures and the page of finished runs."""

from symsets.experiments.report.load_records import Results, load_records
from symsets.experiments.report.page import Report, write

__all__ = ["Report", "Results", "load_records", "write"]
