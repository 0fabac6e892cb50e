import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path, capsys):
    accuracy = runpy.run_path(str(path))["main"](2)  # steps or epochs
    assert 0 <= accuracy <= 1
    assert "expect" in capsys.readouterr().out
