import sys

import pytest

from symsets.experiments.imported import import_file, keep_file
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ny = 1 / 0\n", "broken.py, line 2: ZeroDivisionError: division by zero"),
        ("x = (\n", "broken.py, line 1: SyntaxError"),
        ("import no_such_module\n", "broken.py, line 1: ModuleNotFoundError"),
    ],
)
def test_what_goes_wrong_in_a_file_is_one_sentence_with_its_line(tmp_path, text, message):
    path = tmp_path / "broken.py"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        import_file(path)
    assert "imported_broken" not in sys.modules


def test_what_is_no_python_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"import must name a Python file, got .*missing\.py"):
        import_file(tmp_path / "missing.py")
    text = tmp_path / "notes.txt"
    text.write_text("no code")
    with pytest.raises(ValueError, match=r"such as my_scheme\.py, got .*notes\.txt"):
        import_file(text)


def test_a_study_keeps_the_file_and_refuses_another(tmp_path):
    path, out = tmp_path / "mine.py", tmp_path / "study"
    path.write_text(SCHEME)
    for _ in range(2):
        keep_file(path, out)
    assert (out / "imported" / "mine.py").read_text() == SCHEME
    path.write_text(SCHEME + "# changed\n")
    with pytest.raises(ValueError, match=r"holds runs with another mine.py .*choose another --out"):
        keep_file(path, out)
    assert (out / "imported" / "mine.py").read_text() == SCHEME
