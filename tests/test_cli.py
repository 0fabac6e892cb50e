"""The command line as a person meets it."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from importlib.metadata import requires
from pathlib import Path

import pytest
from typer.testing import CliRunner

from symsets import __version__
from symsets.cli import app
from symsets.experiments.study.records import Record, command_line, read_records

runner = CliRunner()


def test_version_and_help():
    assert __version__ in runner.invoke(app, ["--version"]).output
    assert "orbits" in runner.invoke(app, ["run", "--help"]).output


def test_without_arguments_it_shows_what_one_can_do_by_purpose():
    shown = runner.invoke(app, []).output
    order = ["Your own sets", "train", "best", "The paper", "run", "Theory", "group"]
    places = [shown.index(word) for word in order]
    assert places == sorted(places)


@pytest.mark.parametrize("words", [[], ["--help"], ["train", "--help"], ["--version"]])
def test_help_comes_without_torch(words):
    code = f"import sys; sys.argv = ['symsets', *{words}]; import symsets.cli; symsets.cli.main()"
    watched = f"import atexit, sys; atexit.register(lambda: print('torch' in sys.modules)); {code}"
    command = [sys.executable, "-c", watched]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert shown.strip().endswith("False")
    assert "symsets" in shown


@pytest.mark.parametrize("command", ["train", "merge", "best"])
def test_help_fills_its_lines(command, monkeypatch):
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 500)
    shown = runner.invoke(app, [command, "--help"]).stdout
    before = shown[: shown.index("Arguments")].splitlines()[:-1]
    _usage, *rest = (line.strip() for line in before if line.strip())
    assert len(rest) == 2, rest  # what it does, and more about it


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["nope"], "symsets: No such command 'nope'; symsets --help shows what there is"),
        (["--nope"], "symsets: No such option: --nope; symsets --help shows what there is"),
        (["predict"], "symsets predict: Missing argument 'MODEL'; symsets predict --help"),
        (
            ["train", "x", "--epochs", "a"],
            "symsets train: Invalid value for '--epochs': ",
        ),
        (["run", "signals", "--nope"], "symsets run signals: No such option: --nope"),
    ],
)
def test_a_wrong_word_is_answered_with_one_line(words, line):
    result = runner.invoke(app, words, prog_name="symsets")
    assert result.exit_code == 2
    assert result.stderr.startswith(line)
    assert result.stderr.count("\n") == 1


def test_group_prints_order_dimension_and_scheme(tmp_path):
    picture = tmp_path / "scheme.png"
    result = runner.invoke(app, ["group", "S5 x C4", "--figure", str(picture)])
    assert result.exit_code == 0
    assert "480" in result.output
    assert "dimension  8" in result.output
    assert "abcd│efgh" in result.output
    assert picture.stat().st_size > 1000


@pytest.mark.parametrize(("text", "points"), [("S100", 100), ("S3 x S3 x S3 x S3", 81)])
def test_group_breaks_no_row_of_a_scheme(text, points):
    result = runner.invoke(app, ["group", text], env={"COLUMNS": "80"})
    said = f"\n\n{points} points are too many to write their scheme out; --figure draws it.\n"
    assert result.output.endswith(said)


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("S3", "g.gif", "--figure must end in .png or .svg or .pdf, got"),
        ("S500", "g.png", "group must act on at most 400 points"),
    ],
)
def test_group_looks_at_the_figure_first(tmp_path, text, name, message):
    result = runner.invoke(app, ["group", text, "--figure", str(tmp_path / name)])
    assert result.exit_code == 2
    assert result.output.startswith(f"symsets: {message}")


def test_brackets_in_the_name_of_a_file_are_shown(tmp_path):
    figure = tmp_path / "a [bold] scheme.png"
    assert str(figure) in runner.invoke(app, ["group", "S3", "--figure", str(figure)]).output


def test_signs_that_a_terminal_cannot_show_stop_nothing():
    command = [sys.executable, "-m", "symsets", "group", "S3 x C2"]
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=plain)
    assert "ab?cd?cd" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["group", "S5 y C4"], "text must name a group, got 'S5 y C4'"),
        (["run", "orbits", "--device", "cude"], "device must be one of"),
        (["group", "S3", "--figure", "no/such/folder/x.png"], "no/such/folder"),
        (["data", "no/such/folder"], "no/such/folder must be a folder, but it does not exist"),
        (["data", __file__], "test_cli.py must be a folder, but it is a file"),
        (["pack", "no/such/folder", "x.npz"], "no/such/folder must be a folder"),
        (["pack", ".", "photos.zip"], "OUT must end in .npz, got photos.zip"),
    ],
)
def test_mistakes_get_one_line_and_status_2(arguments, message):
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_an_unknown_experiment_is_a_usage_error():
    result = runner.invoke(app, ["run", "orbit"])
    assert result.exit_code == 2
    assert "orbit" in result.stderr


def test_orbits_shows_what_siamese_cannot_see(tmp_path):
    result = runner.invoke(app, ["run", "orbits", "--steps", "60", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "Siamese" in result.output
    records = read_records(tmp_path / "results.json")
    value = {(r.model, r.setting): r.value for r in records}
    assert value["siamese", "any-sum"] == value["siamese", "equal-sums"] == 0.5
    assert value["dss-sum", "equal-sums"] == 0.5
    assert value["dss-sum", "any-sum"] > 0.7
    assert value["dss-power2", "equal-sums"] > 0.6
    assert (tmp_path / "orbits.png").stat().st_size > 10_000


def test_data_lists_what_is_there_and_how_to_get_the_rest(tmp_path):
    result = runner.invoke(app, ["data", str(tmp_path)])
    assert result.exit_code == 0
    assert "found" in result.output
    assert "embedded" in result.output
    assert "list_eval_partition.txt" in result.output
    kinds = [line.split()[0] for line in result.output.splitlines() if "for symsets run" in line]
    assert kinds == ["images", "videos", "motions", "views", "scenes", "graphs", "tables", "digits"]


def test_data_counts_files_of_your_own(tmp_path):
    photos = tmp_path / ("a long name " * 12)  # more than a line
    (photos / "summer").mkdir(parents=True)
    for name in ("a.jpg", "summer/b.PNG", "summer/c.mp4", "notes.txt"):
        (photos / name).write_bytes(b"")
    lines = runner.invoke(app, ["data", str(photos)]).output.splitlines()
    own = [
        place for place, line in enumerate(lines) if line.strip() == f"found    {photos}".strip()
    ]
    assert [lines[place + 1].strip() for place in own] == [
        "2 files of your own",
        "1 file of your own",
    ]
    images, videos = (lines.index(next(x for x in lines if x.startswith(k))) for k in ("im", "vi"))
    assert images < own[0] < videos < own[1]


def test_data_names_every_kind_of_data_and_every_experiment_that_uses_some():
    from symsets.cli import USES
    from symsets.cli.run import app as runs
    from symsets.experiments.study.catalogue import available

    assert set(USES) == {entry.kind for entry in available([])}
    named = {word for experiments, _ in USES.values() for word in re.findall(r"\w+", experiments)}
    commands = {command.name or command.callback.__name__ for command in runs.registered_commands}
    assert named - {"or"} == commands - {"orbits", "signals"}


def test_records_have_the_fields_of_the_schema(tmp_path):
    from symsets.experiments.study.records import write_records

    path = tmp_path / "results.json"
    record = Record(experiment="orbits", model="siamese", metric="accuracy", value=0.5)
    write_records(path, [record])
    content = json.loads(path.read_text())
    assert content["schema"] == 1
    assert ",".join(content["records"][0]) == (
        "experiment,model,metric,value,scheme,recipe,setting,data,preset,train_size,epochs,seed,"
        "split,test_size,parameters,seconds,device,torch,symsets,commit,command"
    )
    assert read_records(path) == [record]
    path.write_text('{"schema": 2, "records": []}')
    with pytest.raises(ValueError, match="must be a results file of schema 1"):
        read_records(path)


def test_a_missing_extra_is_named():
    from symsets._extras import MissingExtraError, require

    with pytest.raises(MissingExtraError, match=r"pip install 'symsets\[graphs\]'"):
        require("no_such_library.inside", "graphs")


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "orbits"],
        ["run", "colors", "--preset", "smoke"],
        ["evaluate", "runs/colors-smoke", "--data", "embedded"],
        ["report", "runs/colors-smoke"],
    ],
)
def test_what_experiments_need_is_named_before_they_begin(monkeypatch, tmp_path, arguments):
    missing = ("lightning", "matplotlib")
    monkeypatch.setattr("symsets._extras.find_spec", lambda name: name not in missing or None)
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    hint = "lightning, matplotlib must be installed: pip install"
    assert result.output.startswith(f"symsets: {hint} 'symsets[all]'")
    assert not list(tmp_path.iterdir())


def test_the_libraries_of_the_extra_are_those_that_are_installed_with_it():
    from symsets._extras import EXPERIMENTS

    extra = [
        each for each in requires("symsets") or () if re.search("extra == .experiments.", each)
    ]
    assert {re.match(r"\w+", each)[0].lower() for each in extra} == set(EXPERIMENTS)


@pytest.mark.parametrize("line", ["import no_such_library", "raise ImportError('an old numpy')"])
def test_a_broken_extra_is_not_said_to_be_missing(tmp_path, monkeypatch, line):
    from symsets._extras import MissingExtraError, require

    (tmp_path / "broken_library.py").write_text(line)
    monkeypatch.syspath_prepend(tmp_path)
    problem = r"broken_library is needed here but cannot be imported \(.*(no_such|old numpy)"
    with pytest.raises(MissingExtraError, match=problem):
        require("broken_library", "graphs")


def test_a_recorded_command_can_be_typed_again(monkeypatch):
    typed = ["run", "colors", "--data", "my photos/*", "--models", "dss-sum,siamese"]
    monkeypatch.setattr(sys, "argv", ["/somewhere/symsets/__main__.py", *typed])
    assert shlex.split(command_line()) == ["symsets", *typed]


@pytest.mark.skipif(sys.platform != "linux", reason="looks at what a process has loaded")
def test_an_interrupt_while_torch_is_imported_is_quiet():
    process = subprocess.Popen(
        [sys.executable, "-m", "symsets", "group", "S3"],
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests themselves were started in the background, interrupts are ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    maps = Path(f"/proc/{process.pid}/maps")
    while "libtorch" not in maps.read_text():
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert (process.returncode, said) == (130, "symsets: interrupted\n")


@pytest.mark.parametrize(
    "words",
    [
        ["run", "signals", "--train-sizes", "99999999999999999999"],
        ["run", "signals", "--data-seed", "99999999999999999999"],
        ["run", "signals", "--models", "dss-power999999999"],
        ["evaluate", "x", "--data", "y", "--sets", "99999999999999999999"],
    ],
)
def test_vast_numbers_are_refused(tmp_path, words):
    out = ["--out", str(tmp_path / "study")] if words[0] == "run" else []
    result = runner.invoke(app, [*words, *out])
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, []), result.output
