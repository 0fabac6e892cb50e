"""The page, the Markdown and the figures, as files."""

import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
from typer.testing import CliRunner

from symsets.cli import app
from symsets.experiments import report
from symsets.experiments.report.figures import pictures
from symsets.experiments.study.records import Record, write_records
from symsets.pages import to_markdown

runner = CliRunner()


class Reader(HTMLParser):
    """Collects what a page refers to and checks that its tags close."""

    VOID = ("meta", "br", "img", "link", "hr", "input")

    def __init__(self):
        super().__init__()
        self.open, self.links, self.ids, self.counts = [], [], [], {}

    def handle_starttag(self, tag, attrs):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if tag not in self.VOID:
            self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        self.links += [v for k, v in attrs if k in ("src", "href", "xlink:href", "action")]
        self.ids += [v for k, v in attrs if k == "id"]

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def read(path):
    reader = Reader()
    reader.feed(path.read_text("utf-8"))
    assert reader.open == []
    return reader


def test_long_names_in_headings_stay_inside_a_narrow_page(written):
    rules = re.findall(r"h1, h2, h3, h4 \{(.*?)\}", written.html.read_text("utf-8"))
    assert any("overflow-wrap: anywhere" in rule for rule in rules)


def test_everything_is_written_beside_the_first_results(written):
    signals = written.html.parent
    assert (signals / "results.json").is_file()
    assert (signals.name, written.html.name) == ("signals", "report.html")
    assert written.markdown == signals / "report.md"
    assert [path.name for path in written.figures] == [
        "signals-synthetic-waves-ours-paper-accuracy-by-size.png",
        "signals-synthetic-waves-ours-paper-curves.png",
        "signals-synthetic-waves-ours-paper-time.png",
    ]
    for path in written.figures:
        assert path.parent == signals / "figures"
        assert path.read_bytes().startswith(b"\x89PNG")
    assert len(written.tables) == 3  # two comparisons and a learning-rate search


def test_the_page_needs_nothing_else(written):
    page = read(written.html)
    assert page.links  # markers inside of the drawings
    assert all(link.startswith("#") for link in page.links)
    text = written.html.read_text("utf-8")
    assert not re.search(r'(src|href)\s*=\s*"?\s*(https?:)?//', text)
    assert "@import" not in text
    assert "<script" not in text
    assert not re.search(r"url\((?!#)", text)


def test_the_page_is_sound_html(written):
    page = read(written.html)
    assert page.counts["table"] == 3
    assert page.counts["svg"] == 3
    assert page.counts["h1"] == 1
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links} <= set(page.ids)


def test_the_page_says_what_was_found(written):
    text = written.html.read_text("utf-8")
    assert "<strong>97.00 ± 1.00</strong>" in text
    assert "32.00 points better than the best Siamese variant" in text
    assert "1 failed" in text
    assert "<b>holds</b>: DSS(Sridhar) reaches 35.00 ± 0.71 %" in text
    assert "<b>cannot be judged yet</b>" in text
    assert "symsets run signals --seeds 3" in text
    assert "abc123" in text
    assert "prefers-color-scheme: dark" in text
    assert "stroke: #0072b2" in text
    assert "15 minutes for MLP to 5 hours for DSS(Aittala)" in text


def test_the_markdown_says_the_same(written):
    text = written.markdown.read_text("utf-8")
    assert text.startswith("# signals, colors\n")
    assert [line.split(" is the best network")[0] for line in written.headlines] == [
        "signals: DSS(sum)",
        "colors, places: DSS(Aittala)",
    ]
    for line in written.headlines:
        assert line.partition(": ")[2] in text
    for table in written.tables:
        assert to_markdown(table) in text
    assert "27 runs of 5 models; **1 failed** and is in no mean." in text
    for path in re.findall(r"!\[.*\]\((.*)\)", text):
        assert (written.markdown.parent / path).is_file()


def test_what_cannot_be_judged_for_one_reason_is_said_once(tmp_path):
    records = [
        Record(experiment="signals", model=m, metric="accuracy", value=0.5, preset="quick")
        for m in ("dss-sum", "deepsets", "siamese", "siamese-ds", "sridhar")
    ]
    write_records(tmp_path / "results.json", records)
    written = report.write([tmp_path])
    assert len(written.verdicts) == 4
    for path in (written.html, written.markdown):
        text = path.read_text("utf-8")
        assert text.count("preset quick is too small for that.") == 1
        assert all(verdict.claim.sentence in text for verdict in written.verdicts)


def test_the_models_are_explained_if_they_are_known(written, tmp_path):
    for path in (written.html, written.markdown):
        text = path.read_text("utf-8")
        assert text.index("What the models do") < text.index("L₁(xᵢ) + L₂(Σⱼ xⱼ) in every layer")
        assert "L₂(maxⱼ xⱼ)" not in text  # no such model is there
    record = Record(experiment="signals", model="my-own", metric="accuracy", value=0.5)
    write_records(tmp_path / "results.json", [record])
    assert "What the models do" not in report.write([tmp_path]).markdown.read_text("utf-8")


def test_what_a_record_says_cannot_become_markup(tmp_path):
    record = Record(
        experiment="<script>alert(1)</script>", model="<b>", metric="accuracy", value=0.5
    )
    write_records(tmp_path / "results.json", [record])
    written = report.write([tmp_path])
    assert "<script" not in written.html.read_text("utf-8")
    read(written.html)


def test_two_recipes_get_names_that_tell_them_apart(tmp_path):
    base = {"experiment": "signals", "model": "dss-sum", "metric": "accuracy", "value": 0.5}
    records = [Record(recipe=recipe, **base) for recipe in ("ours", "published")]
    write_records(tmp_path / "results.json", records)
    titles = [table.title for table in report.write([tmp_path]).tables]
    assert titles == ["signals · ours", "signals · published"]


def test_data_whose_names_differ_in_signs_alone_have_figures_of_their_own(tmp_path):
    for name in ("фото", "写真"):
        (tmp_path / name).mkdir()
        common = {"experiment": "colors", "metric": "mae", "value": 2.0, "train_size": 8}
        models = [
            Record(model=m, data=name, seconds=1.0, epochs=2, **common) for m in ("dss-sum", "mlp")
        ]
        write_records(tmp_path / name / "results.json", models)
    written = report.write([tmp_path / "фото", tmp_path / "写真"])
    assert len(set(written.figures)) == len(written.figures) > 1
    assert all(f"figures/{path.name}" in written.markdown.read_text() for path in written.figures)


def test_names_that_are_no_text_are_written(tmp_path):
    common = {"experiment": "colors", "metric": "mae", "value": 2.0}
    name = os.fsdecode(b"caf\xe9")
    write_records(tmp_path / "results.json", [Record(model="dss-sum", data=name, **common)])
    written = report.write([tmp_path])
    assert "caf?" in written.html.read_text("utf-8")
    assert "caf?" in written.markdown.read_text("utf-8")


def test_results_alone_are_enough(colors):
    written = report.write([colors])
    assert len(written.tables) == 1
    assert written.figures == ()  # one size, no curves, no times
    read(written.html)


def test_times_come_from_records_where_runs_are_missing(signals):
    shutil.rmtree(signals / "runs")
    (comparison,) = report.load_records([signals]).comparisons
    assert [p.name.rpartition("-")[2] for p in pictures(comparison)] == ["size", "time"]


def test_drawing_leaves_no_trace(signals):
    import matplotlib
    import matplotlib.pyplot

    before = dict(matplotlib.rcParams)
    report.write([signals])
    assert dict(matplotlib.rcParams) == before
    assert matplotlib.pyplot.get_fignums() == []


def test_the_command_prints_and_writes(signals, colors, tmp_path):
    out = tmp_path / "site" / "index.html"
    result = runner.invoke(app, ["report", str(signals), str(colors), "--out", str(out)])
    assert result.exit_code == 0, result.output
    for words in ("DSS(sum) is the best network", "DSS(Aittala)", "1 failed", str(out)):
        assert words in result.output
    assert out.is_file()
    assert (out.parent / "index.md").is_file()
    assert len(list((out.parent / "figures").glob("*.png"))) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "must hold a results.json"),
        ("{", "must be a results file of schema 1"),
        ('{"schema": 7, "records": []}', "schema 7 is not 1"),
    ],
)
def test_a_folder_without_results_gets_one_line_and_status_2(tmp_path, content, message):
    if content is not None:
        (tmp_path / "results.json").write_text(content)
    result = runner.invoke(app, ["report", str(tmp_path)])
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_the_page_must_be_a_page(colors, tmp_path):
    with pytest.raises(ValueError, match=r"out must end in \.html, got .*page\.pdf"):
        report.write([colors], tmp_path / "page.pdf")


@pytest.mark.browser
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs a browser")
def test_a_browser_shows_the_tables(written, tmp_path):
    command = [
        *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
        *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
        *("--disable-sync", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"),
        written.html.as_uri(),
    ]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert shown.count("<table>") == 3
    assert shown.count("<svg ") == 3
    assert "97.00 ± 1.00" in shown


def test_settings_that_the_paper_lacks_come_last(tmp_path):
    base = {"experiment": "shapes", "model": "dss-sum", "metric": "accuracy", "value": 0.5}
    records = [Record(setting=setting, **base) for setting in ("full-points", "graphs", "points")]
    write_records(tmp_path / "results.json", records)
    page = report.write([tmp_path]).markdown.read_text()
    places = [page.index(f"### shapes, {name}") for name in ("graphs", "points", "full-points")]
    assert places == sorted(places)


def test_a_search_is_shown_in_the_metric_of_its_own_experiment(signals, colors):
    rates = {"dss-sum": {"0.1": 30.0, "0.001": 1.9}}
    (colors / "search.json").write_text(json.dumps(rates))
    table = report.write([signals, colors]).tables[-1]
    shown = str(table)
    assert "1.90" in shown
    assert "190" not in shown


def test_a_search_by_the_loss_says_so_and_the_smallest_wins(signals):
    (signals / "study.json").write_text(json.dumps({"keep": "loss"}))
    table = report.write([signals]).tables[-1]
    assert "loss ↓" in table.caption
    bold = [cell.text for row in table.rows for cell in row if cell.best]
    assert bold == ["0.9", "0.6"]


def test_tables_by_source_are_told_apart(tmp_path):
    records = [
        Record(experiment="frames", model="dss-sum", metric=metric, value=0.5, recipe=recipe)
        for recipe in ("ours", "published")
        for metric in ("accuracy", "accuracy/indoor", "accuracy/street")
    ]
    write_records(tmp_path / "results.json", records)
    titles = [table.title for table in report.write([tmp_path]).tables[2:]]
    assert titles == ["frames · ours, parts", "frames · published, parts"]


def test_a_table_that_goes_on_has_a_shade_on_that_side(written):
    page = written.html.read_text("utf-8")
    rule = page[page.index(".scroll {") :].partition("}")[0]
    assert "no-repeat local" in rule  # moves with the table and covers the shade at its end
    assert "no-repeat scroll" in rule


def test_markdown_shows_what_it_quotes_as_it_is(tmp_path):
    odd = {"experiment": "e", "metric": "accuracy", "value": 0.5}
    records = [
        Record(model="<script>", data="[x](javascript:1)", command="a ``` b", **odd),
        Record(model="*a*|b", data="[x](javascript:1)", **odd),
    ]
    write_records(tmp_path / "results.json", records)
    text = report.write([tmp_path]).markdown.read_text()
    assert "&lt;script&gt;" in text
    assert "<script>" not in text
    assert r"\[x\](javascript:1)" in text
    assert r"\*a\*\|b" in text
    assert "````\na ``` b\n" in text
