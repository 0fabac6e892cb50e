"""What ``symsets.train`` offers to those who train their own sets."""

import subprocess
import sys
from types import ModuleType

import pytest

from symsets import train
from symsets._extras import MissingExtraError


def test_all_names_are_there_and_none_is_hidden_by_a_module():
    import symsets.train.fitting  # noqa: F401  (importing a module puts its name into the package)

    for name in train.__all__:
        assert not isinstance(getattr(train, name), ModuleType), name
    assert set(train.__all__) <= set(dir(train))
    with pytest.raises(AttributeError, match=r"'symsets\.train' has no attribute 'fti'"):
        train.fti


def test_what_needs_lightning_imports_it_when_it_is_asked_for():
    code = (
        "import sys, symsets.cli; from symsets.train import Plan, Task\n"
        "assert 'lightning' not in sys.modules\n"
        "from symsets.train import fit\n"
        "assert 'lightning' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_extra_is_named_where_lightning_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightning", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'symsets\[experiments\]'"):
        train.fit
    assert train.Plan(1).epochs == 1
