import sys
from pathlib import Path

import pytest

from symsets.experiments.study.imported import Imported, import_file
from symsets.nn.registry import is_scheme, unregister_scheme

SCHEME = """
from symsets import DSS, register_scheme

@register_scheme("mine")
def build(make, in_channels, out_channels, *, size):
    return DSS(make(in_channels, out_channels), pool="mean")
"""


def test_a_file_is_run_as_a_module(tmp_path):
    path = tmp_path / "my scheme.py"
    path.write_text(SCHEME + "\nfrom dataclasses import dataclass\n@dataclass\nclass One: x: int\n")
    try:
        import_file(path)
        assert is_scheme("mine")
    finally:
        unregister_scheme("mine")
        del sys.modules["imported_my scheme"]


@pytest.fixture(autouse=True)
def unchanged_path(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])


def test_a_file_may_import_others_beside_it_and_all_are_kept(tmp_path):
    path, beside, out = tmp_path / "mine.py", tmp_path / "parts_of_mine.py", tmp_path / "study"
    path.write_text("import json, parts_of_mine\n")
    beside.write_text("NUMBER = 3\n")
    try:
        found = import_file(path)
        assert found == Imported((), (path, beside))
        found.keep(out)
    finally:
        del sys.modules["imported_mine"]
        sys.modules.pop("parts_of_mine", None)
    assert (out / "imported" / "mine" / "parts_of_mine.py").read_text() == "NUMBER = 3\n"
    beside.write_text("NUMBER = 4\n")
    with pytest.raises(ValueError, match="holds runs of 'mine' with other code"):
        found.keep(out)


def test_a_scheme_that_would_never_be_asked_for_is_refused(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(SCHEME)
    try:
        with pytest.raises(ValueError, match=r"mine.py: .* there is a model 'mine' already"):
            import_file(path, taken=["mine"])
    finally:
        unregister_scheme("mine")
        del sys.modules["imported_mine"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ny = 1 / 0\n", "broken.py, line 2: ZeroDivisionError: division by zero"),
        ("x = (\n", "broken.py, line 1: SyntaxError"),
        ("import no_such_module\n", "broken.py, line 1: ModuleNotFoundError"),
        ("import json\n\njson.loads('{')\n", "broken.py, line 3: JSONDecodeError"),
        ("raise SystemExit(0)\n", "broken.py, line 1: SystemExit: 0"),
    ],
)
@pytest.mark.parametrize("folder", [None, "."])
def test_what_goes_wrong_in_a_file_is_one_sentence_with_its_line(
    tmp_path, monkeypatch, folder, text, message
):
    monkeypatch.chdir(tmp_path)
    path = Path(folder or tmp_path) / "broken.py"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        import_file(path)
    assert "imported_broken" not in sys.modules


def test_what_is_no_python_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"import must name a Python file, got .*missing\.py"):
        import_file(tmp_path / "missing.py")
    text = tmp_path / "notes.txt"
    text.write_text("no code")
    with pytest.raises(ValueError, match=r"such as mine\.py, got .*notes\.txt"):
        import_file(text)


def test_a_study_keeps_the_code_of_a_scheme_and_refuses_other_code(tmp_path):
    path, other, out = tmp_path / "mine.py", tmp_path / "other.py", tmp_path / "study"
    path.write_text(SCHEME)
    other.write_text(SCHEME)
    mine = Imported(("mine",), (path,))
    for _ in range(2):
        mine.keep(out)
    assert (out / "imported" / "mine" / "mine.py").read_text() == SCHEME
    Imported(("another",), (other,)).keep(out)
    path.write_text(SCHEME + "# changed\n")
    for code in (mine, Imported(("mine",), (other,)), Imported(("another", "mine"), (other,))):
        with pytest.raises(ValueError, match=r"holds runs of 'mine' with other code .*--out"):
            code.keep(out)
    assert (out / "imported" / "mine" / "mine.py").read_text() == SCHEME


def test_code_without_a_scheme_is_kept_under_its_own_name(tmp_path):
    path = tmp_path / "helpers.py"
    path.write_text("x = 1\n")
    Imported((), (path,)).keep(tmp_path / "study")
    assert (tmp_path / "study" / "imported" / "helpers" / "helpers.py").exists()
