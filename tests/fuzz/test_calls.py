"""Every call is answered rightly, or refused by a sentence of ours that names what is wrong."""

import importlib
import re
from pathlib import Path

import pytest
import torch
from calls import CALLS, NOT_CALLED, Draw, outcome, unexplained

import symsets

PACKAGES = ("nn", "sets", "groups", "testing", "train", "models", "data", "lift", "ops")
WRONG = (0.0, 0.1, 0.2, 0.4)  # the share of arguments that are replaced
SMALL, LARGE = 12, 250  # calls of each kind and share


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_answered_or_refused_by_us(name, request):
    num = LARGE if request.config.getoption("--large") else SMALL
    found = {
        f"seed {seed}, {wrong} wrong: {said}"
        for seed in range(num)
        for wrong in WRONG
        if (said := outcome(name, seed, wrong))
    }
    assert not found, "\n".join(sorted(found)[:10])


def test_every_public_name_is_called():
    source = (Path(__file__).parent / "calls.py").read_text(encoding="utf-8")
    before = source.partition("NOT_CALLED")[0]
    modules = [symsets, *(importlib.import_module(f"symsets.{name}") for name in PACKAGES)]
    names = {name for module in modules for name in module.__all__} - {*PACKAGES, "__version__"}
    missing = {name for name in names if not re.search(rf"\b{name}\b", before)}
    assert missing == NOT_CALLED.keys() & names == NOT_CALLED.keys()


def test_the_fuzzer_notices_errors_of_others_and_numbers_that_are_none(monkeypatch):
    def torchs(draw):
        return lambda: torch.zeros(2, 3) @ torch.zeros(2, 3)

    def pythons(draw):
        return lambda: symsets.pool.nothing

    def nan(draw):
        return lambda: torch.tensor(torch.nan)

    for name, call, said in (
        ("torchs", torchs, "RuntimeError of "),
        ("pythons", pythons, "AttributeError of "),
        ("nan", nan, "not finite"),
    ):
        monkeypatch.setitem(CALLS, name, call)
        assert outcome(name, 0, 0.0).startswith(said)
    with pytest.raises(ValueError, match="pool must be one of") as caught:
        symsets.pool(torch.zeros(2, 3), "medain")
    assert unexplained(caught.value, 0.5) is None
    assert unexplained(caught.value, 0.0).startswith("refused a right call: pool must be one of")
    assert Draw("a").random() == Draw("a").random()
