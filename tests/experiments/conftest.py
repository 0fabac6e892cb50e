import pytest


@pytest.fixture
def no_report(monkeypatch):
    """Leave out the pages and figures, which have tests of their own."""
    monkeypatch.setattr("symsets.experiments.report.write", lambda *args: None)
    monkeypatch.setattr("symsets.cli.run.show_report", lambda report: None)
