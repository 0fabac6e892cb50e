"""Tables say what the records say, the same in every form."""

import math
from dataclasses import replace

import pytest
from rich.console import Console

from symsets.experiments.report.load_records import load_records
from symsets.experiments.report.metrics import display_of
from symsets.experiments.report.noise import measured
from symsets.experiments.report.tables import parts_table, results_table, search_table, skip_table
from symsets.experiments.study.experiment import EXPERIMENTS, find_experiment
from symsets.experiments.study.records import Record, read_records, write_records
from symsets.pages import to_markdown, to_rich
from symsets.pages.styles import BASELINES, MODEL_STYLES, rank, style_of
from symsets.pages.tables import Cell, Table, duration


def rows(table):
    return {row[0].text: dict(zip(table.columns, row, strict=True)) for row in table.rows}


@pytest.fixture
def signals_table(signals):
    return results_table(load_records([signals]).comparisons[0])


@pytest.fixture
def colors_table(colors):
    return results_table(load_records([colors]).comparisons[0])


def test_cells_hold_mean_and_std_in_per_cent(signals_table):
    cells = rows(signals_table)["DSS(sum)"]
    assert cells["3,000 sets"].text == "97.00 ± 1.00"
    assert cells["300 sets"].text == "62.00 ± 2.00"
    assert cells["runs"].text == "3"
    assert cells["parameters"].text == "3.23 M"
    assert cells["time per run"].text == "21 s"


def test_the_best_is_bold_and_nothing_else(signals_table):
    best = {name: cells["3,000 sets"].best for name, cells in rows(signals_table).items()}
    assert best == {"DSS(sum)": True, "DSS(Sridhar)": False, "Siamese": False}


def test_the_lowest_error_and_the_highest_psnr_are_best(colors_table):
    for column in ("MAE ↓", "PSNR, dB ↑"):
        best = [name for name, cells in rows(colors_table).items() if cells[column].best]
        assert best == ["DSS(Aittala)"]


def test_a_metric_that_some_runs_lack_says_of_how_many_it_is(colors):
    records = read_records(colors / "results.json")
    lacking = [r for r in records if (r.model, r.metric) != ("dss-sum", "psnr") or r.seed == 1]
    write_records(colors / "results.json", lacking)
    table = rows(results_table(load_records([colors]).comparisons[0]))
    cells = table["DSS(sum)"]
    assert (cells["PSNR, dB ↑"].text, cells["PSNR, dB ↑"].note) == ("30.50", "1 of 3 runs")
    assert (cells["MAE ↓"].note, cells["runs"].text) == ("", "3")
    assert table["Siamese+DS"]["PSNR, dB ↑"].note == ""


def test_failed_runs_are_told(signals_table):
    cell = rows(signals_table)["DSS(Sridhar)"]["3,000 sets"]
    assert (cell.text, cell.note) == ("35.00 ± 0.71", "1 failed")


def test_a_model_that_only_failed_says_so_and_is_not_best(tmp_path):
    base = {"experiment": "e", "metric": "accuracy"}
    records = [Record(model="a", value=math.nan, seed=k, **base) for k in range(2)]
    write_records(tmp_path / "results.json", [*records, Record(model="b", value=0.1, **base)])
    table = results_table(load_records([tmp_path]).comparisons[0])
    failed, other = (cells["accuracy, % ↑"] for cells in rows(table).values())
    assert (failed.text, failed.note, failed.best) == ("failed", "2 of 2", False)
    assert (other.text, other.best) == ("10.00", True)  # one run: no deviation


def test_published_numbers_stand_beside_the_metric_they_are_in(colors_table):
    origin = "published, Places365 / CelebA, 50 epochs"
    assert colors_table.columns[:4] == ("model", "MAE ↓", origin, "PSNR, dB ↑")
    assert rows(colors_table)["DSS(sum)"]["epochs"].text == "40"
    cells = {name: row[origin].text for name, row in rows(colors_table).items()}
    assert cells == {
        "DSS(sum)": "1.78 ± 0.03",
        "DSS(Aittala)": "1.67 ± 0.06",
        "Siamese+DS": "8.06 ± 0.06",
        "grey image": "14.68",
    }
    assert rows(colors_table)["grey image"]["MAE ↓"].text == "–"


def test_captions_name_the_data_and_what_the_paper_left_out(signals_table, colors_table):
    assert "data: embedded photographs" in colors_table.caption
    assert "500 training sets" in colors_table.caption
    assert "data: synthetic waves" in signals_table.caption
    assert "chance: 33.3 %" in signals_table.caption
    assert "chance" not in colors_table.caption
    assert "The paper prints no numbers for this, but makes claims." in signals_table.caption


def test_where_all_are_equal_none_is_best(tmp_path):
    base = {"experiment": "frames", "metric": "accuracy", "value": 0.0}
    records = [Record(model=model, **base) for model in ("dss-sum", "siamese-ds")]
    write_records(tmp_path / "results.json", records)
    table = results_table(load_records([tmp_path]).comparisons[0])
    assert not any(cell.best for row in table.rows for cell in row)


def test_the_caption_names_the_settings_that_the_paper_has_numbers_for(colors):
    records = [replace(r, setting="") for r in read_records(colors / "results.json")]
    write_records(colors / "results.json", records)
    caption = results_table(load_records([colors]).comparisons[0]).caption
    assert "The paper prints no numbers for this, only for places, celeba, but" in caption


def test_an_unknown_experiment_and_metric_have_no_published_column_and_no_best(tmp_path):
    base = {"experiment": "mine", "metric": "sparkle", "parameters": 1234}
    records = [Record(model=m, value=v, **base) for m, v in (("a", 1.0), ("b", 12345.6))]
    write_records(tmp_path / "results.json", records)
    table = results_table(load_records([tmp_path]).comparisons[0])
    assert table.columns == ("model", "sparkle", "runs", "parameters")
    assert [row[1].text for row in table.rows] == ["1", "1.235e+04"]
    assert not any(cell.best for row in table.rows for cell in row)
    assert "bold" not in table.caption


def test_unequal_numbers_of_runs_are_told(tmp_path):
    base = {"experiment": "signals", "metric": "accuracy", "model": "dss-sum", "value": 0.5}
    sizes_and_seeds = [(10, 0), (10, 1), (20, 0)]
    records = [Record(train_size=n, seed=s, **base) for n, s in sizes_and_seeds]
    write_records(tmp_path / "results.json", records)
    table = results_table(load_records([tmp_path]).comparisons[0])
    assert rows(table)["DSS(sum)"]["runs"].text == "1–2"


def test_markdown_is_well_formed(signals_table, colors_table):
    for table in (signals_table, colors_table):
        lines = [line for line in to_markdown(table).splitlines() if line.startswith("|")]
        assert len(lines) == 2 + len(table.rows)
        assert {line.count("|") for line in lines} == {len(table.columns) + 1}
        assert set(lines[1]) <= set("|:- ")
    assert "| **97.00 ± 1.00** |" in to_markdown(signals_table)
    assert "| 35.00 ± 0.71 (1 failed) |" in to_markdown(signals_table)


def test_markdown_cells_cannot_break_the_table():
    table = Table("t", "c", ("model", "x"), ((Cell("a|b"), Cell("1\n2")),))
    assert to_markdown(table).splitlines()[-1] == r"| a\|b | 1 2 |"


def printed(table, width):
    console = Console(width=width)
    with console.capture() as capture:
        console.print(to_rich(table, width=width))
    return capture.get()


def test_the_terminal_shows_the_same_numbers(signals_table):
    text = printed(signals_table, 120)
    for row in signals_table.rows:
        for cell in row:
            assert cell.text in text
    assert "1 failed" in text


BURSTS = Table(
    "bursts",
    "Test split.",
    ("model", "MAE ↓", "published", "PSNR, dB ↑", "SSIM ↑", "runs", "parameters", "time per run"),
    (
        tuple(
            Cell(text)
            for text in (
                "median of the set",
                "16.75 ± 0.10",
                "6.11 ± 0.08",
                "31.77 ± 0.10",
                "0.9342 ± 0.0010",
                "55",
                "5.18 M",
                "3.2 min",
            )
        ),
    ),
)


@pytest.mark.parametrize(
    ("width", "left_out"),
    [(120, []), (100, ["time per run"]), (80, ["runs", "parameters", "time per run"])],
)
def test_a_narrow_terminal_loses_columns_but_no_letters(width, left_out):
    text = printed(BURSTS, width)
    assert "…" not in text
    for name, cell in zip(BURSTS.columns, BURSTS.rows[0], strict=True):
        assert (cell.text in text) == (name not in left_out)
    assert ("Not shown here" in text) == bool(left_out)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_table_that_is_too_wide_goes_on_below_and_breaks_no_number(width):
    rates = [f"{rate:g}" for k in range(5) for rate in (10.0**-k, 0.3 * 10.0**-k)]
    rows = tuple(
        (Cell(name), *(Cell(f"{start + k}.{k}25 ± 0.1{k}", note="1 failed") for k in range(10)))
        for name, start in (("DSS(sum), two layers", 10), ("Siamese", 50))
    )
    lines = printed(Table("search", "On validation.", ("model", *rates), rows), width).splitlines()
    assert max(map(len, lines)) <= width
    seen = " ".join(lines)
    assert all(cell.text in seen for row in rows for cell in row[1:])
    assert seen.count("Siamese") == seen.count("model") > 1


def test_long_text_in_a_cell_is_broken_between_words():
    said = "cat 71 %, dog 20 %, mouse 9 %, and nothing else in this picture of a garden"
    text = printed(Table("t", "c", ("set", "answer"), ((Cell("a"), Cell(said)),)), 40)
    assert " ".join(text.split()).endswith(f"a {said} c")


def test_a_table_that_fits_with_shorter_heads_keeps_its_columns():
    table = Table("t", "c", ("model", "parameters", "time per run"), ((Cell("a"),) * 3,))
    assert printed(table, 26).split()[1:4] == ["model", "params", "time/run"]


def test_metrics_have_the_names_that_people_write(colors, tmp_path):
    headers = [display_of(name).header for name in ("mae", "psnr", "ssim", "accuracy", "sparkle")]
    assert headers == ["MAE ↓", "PSNR, dB ↑", "SSIM ↑", "accuracy, % ↑", "sparkle"]
    record = Record(experiment="bursts", model="dss-sum", metric="psnr", value=30.0)
    write_records(tmp_path / "results.json", [record])
    caption = results_table(load_records([tmp_path]).comparisons[0]).caption
    assert caption.startswith("PSNR, dB ↑; test split")


def test_all_that_look_best_are_bold(tmp_path):
    base = {"experiment": "signals", "metric": "accuracy"}
    values = {"dss-sum": 0.50001, "dss-max": 0.5, "siamese": 0.4}
    records = [Record(model=model, value=value, **base) for model, value in values.items()]
    write_records(tmp_path / "results.json", records)
    found = rows(results_table(load_records([tmp_path]).comparisons[0]))
    best = [name for name, cells in found.items() if cells["accuracy, % ↑"].best]
    assert best == ["DSS(sum)", "DSS(max)"]


def test_a_search_shows_the_rate_that_won_and_the_one_that_failed(signals):
    (search,) = load_records([signals]).searches.values()
    table = search_table("signals", search)
    assert table.columns == ("model", "1e-3", "1e-4")
    assert [cell.best for cell in rows(table)["DSS(sum)"].values()] == [False, False, True]
    assert rows(table)["Siamese"]["1e-4"].text == "failed"


def test_parts_of_the_data_have_a_table_of_their_own(tmp_path):
    values = {"accuracy": (0.5, 0.4), "accuracy/indoor": (0.8, 0.3), "accuracy/street": (0.2, 0.5)}
    records = [
        Record(experiment="frames", model=model, metric=name, value=both[k])
        for name, both in values.items()
        for k, model in enumerate(("dss-sum", "siamese-ds"))
    ]
    write_records(tmp_path / "results.json", records)
    comparison = load_records([tmp_path]).comparisons[0]
    table = parts_table(comparison)
    assert table.columns == ("model", "indoor", "street")
    told = "Accuracy, % ↑; on parts of the test sets, or on variants of them; mean ±"
    assert table.caption.startswith(told)
    assert "bold: best" in table.caption
    cells = rows(table)["DSS(sum)"]
    assert (cells["indoor"].text, cells["indoor"].best) == ("80.00", True)
    assert (cells["street"].text, cells["street"].best) == ("20.00", False)
    assert not any("indoor" in column for column in results_table(comparison).columns)


def test_parts_of_the_data_have_a_size_where_records_agree(tmp_path):
    base = {"experiment": "frames", "value": 0.5}
    sizes = {"indoor": (20, 0), "street": (20, 30)}
    records = [Record(model="dss-sum", metric="accuracy", **base)] + [
        Record(model=model, metric=f"accuracy/{part}", test_size=both[k], **base)
        for part, both in sizes.items()
        for k, model in enumerate(("dss-sum", "siamese-ds"))
    ]
    write_records(tmp_path / "results.json", records)
    table = parts_table(load_records([tmp_path]).comparisons[0])
    assert table.columns == ("model", "indoor (20)", "street")
    assert "variants of them, as many as in brackets;" in table.caption


def test_without_parts_there_is_no_such_table(signals):
    assert parts_table(load_records([signals]).comparisons[0]) is None


def test_skips_stand_beside_the_published_ones():
    table = skip_table("pack", {"test": {"1": 0.7, "2": 0.5}})
    assert table.columns == ("skip", "1", "2", "3", "5", "10")
    test, published = table.rows
    assert [cell.text for cell in test] == ["test", "70.00", "50.00", "–", "–", "–"]
    assert [cell.text for cell in published][1:] == ["80.95", "–", "43.75", "32.91", "27.73"]


def test_models_have_one_look_each():
    trained = [seen for word, seen in MODEL_STYLES.items() if seen.marker]
    assert len({seen.colour for seen in trained}) == len(trained)
    assert style_of("my-model") == style_of("my-model")
    assert style_of("my-model").label == "my-model"
    words = ["random", "my-model", "mlp", "siamese", "dss-sum"]
    assert sorted(words, key=rank) == words[::-1]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_model_of_an_experiment_has_a_look_and_no_baseline_counts_as_a_network(name):
    experiment = find_experiment(name)
    assert {*experiment.models, *experiment.baselines} <= MODEL_STYLES.keys()
    assert {*experiment.baselines} <= {*BASELINES}
    assert not {*experiment.models} & {*BASELINES}


def test_an_error_is_better_when_lower():
    assert display_of("val_loss").better == display_of("mae").better == "lower"
    assert display_of("mae").gain(1.0, 3.0) == display_of("psnr").gain(3.0, 1.0) == 2.0


def test_durations_read_well():
    shown = [duration(s) for s in (0.42, 2, 42, 119, 200, 5400)]
    assert shown == ["0.42 s", "2.0 s", "42 s", "119 s", "3.3 min", "1.5 h"]


@pytest.mark.parametrize(
    ("counts", "told"),
    [((1234, 1234), "test split (1,234 sets)"), ((0, 0), "test split;"), ((5, 7), "test split;")],
)
def test_the_number_of_test_sets_is_told_where_all_agree(tmp_path, counts, told):
    base = {"experiment": "colors", "metric": "mae", "value": 1.0}
    models = zip(("dss-sum", "grey"), counts, strict=True)
    records = [Record(model=model, test_size=num, **base) for model, num in models]
    write_records(tmp_path / "results.json", records)
    assert told in results_table(load_records([tmp_path]).comparisons[0]).caption


def test_a_share_of_few_test_sets_is_uncertain(tmp_path):
    base = {"experiment": "frames", "model": "dss-sum", "metric": "accuracy", "value": 0.5}
    write_records(tmp_path / "results.json", [Record(test_size=25, preset="paper", **base)])
    found = measured(load_records([tmp_path]).comparisons[0], "dss-sum", "accuracy")
    assert found.test_variance == pytest.approx(0.1**2)
