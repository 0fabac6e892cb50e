"""Right calls are answered rightly; wrong ones are refused, by a sentence of ours or by Python."""

import importlib
import re
from pathlib import Path

import pytest
import torch
from calls import CALLS, NOT_CALLED, Draw, outcome, unexplained

import symsets
from symsets import RaggedSets, nn, sets, train
from symsets.experiments.bursts.sets import BurstSets
from symsets.sets.folding import membership

PACKAGES = ("nn", "sets", "groups", "testing", "train", "models", "data", "lift", "ops")
WRONG = (0.0, 0.1, 0.2, 0.4)  # the share of arguments that are replaced
SMALL, LARGE = 12, 250  # calls of each kind and share


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_answered_or_refused(name, request):
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
        assert said in outcome(name, 0, 0.0)
    with pytest.raises(ValueError, match="pool must be one of") as caught:
        symsets.pool(torch.zeros(2, 3), "medain")
    assert unexplained(caught.value, 0.5) is None
    assert "refused a right call: ValueError of symsets" in unexplained(caught.value, 0.0)
    assert Draw("a").random() == Draw("a").random()


PAIRS = torch.zeros(2, 5, 3)
RAGGED = RaggedSets(torch.zeros(5, 3), [2, 3])
EDGES = torch.tensor([[0, 1], [1, 0]])
NAMED = {
    "spread": (lambda: sets.spread(torch.zeros(3, 4), PAIRS), "summary must have one row for each"),
    "spread, ragged": (lambda: sets.spread(torch.zeros(3, 4), RAGGED), "each of 2 sets, got"),
    "membership": (lambda: membership(torch.zeros(3)), "x must have at least 2 axes"),
    "partition": (
        lambda: RaggedSets(torch.zeros(4, 2), partition=RAGGED.partition),
        "elements must be one row per element, 5, got 4",
    ),
    "Exchangeable": (lambda: nn.Exchangeable(3, 4)(RAGGED), "x must be a tensor, got RaggedSets"),
    "set_layer": (
        lambda: symsets.set_layer("attention", lambda i, o: None, 3, 4),
        "what make returns must be a module, got NoneType",
    ),
    "select_loss": (
        lambda: symsets.select_loss(torch.zeros(0, 3), torch.zeros(0).long()),
        "scores must hold at least one set",
    ),
    "metric": (
        lambda: train.ACCURACY(torch.zeros(0, 3), torch.zeros(0).long()),
        "output must hold at least one set for 'accuracy'",
    ),
    "accuracy": (
        lambda: train.accuracy(torch.zeros(2, 3), torch.zeros(3).long()),
        r"must be scores \(B, N\) and B integers below N, .* got .*\(2, 3\).* and .*\(3,\)",
    ),
    "accuracy, beyond": (
        lambda: train.accuracy(torch.zeros(2, 3), torch.tensor([0, 3])),
        "integers below N",
    ),
    "mean_absolute_error": (
        lambda: train.mean_absolute_error(1.0)(torch.zeros(2, 3, 4), torch.zeros(2, 1, 4)),
        r"pictures \(B, …\) of one shape, with entries, got",
    ),
    "psnr": (lambda: train.psnr(1.0)(torch.zeros(2), torch.zeros(2)), "pictures"),
    "psnr, options": (lambda: train.psnr(torch.nan), "span must be positive, got nan"),
    "ssim": (lambda: train.ssim(1.0)(*[torch.zeros(2, 3, 9, 12)] * 2), "of 11 pixels or more"),
    "noise": (lambda: bursts(noise=torch.nan), "noise must be 0 or positive, got nan"),
    "shake": (lambda: bursts(shake=-1), "shake must be 0 or positive, got -1"),
    "collate": (lambda: symsets.collate([PAIRS, 3]), r"samples must all be alike, .* and 3"),
    "collate, keys": (
        lambda: symsets.collate([{"a": 1}, {"b": 1}]),
        r"got \{'a': 1\} and \{'b': 1\}",
    ),
    "load": (lambda: symsets.load([1]), "path must be a path, got list"),
    "edge_weight": (
        lambda: nn.Graph(EDGES, 2, edge_weight=object()),
        r"edge_weight must be a tensor \(E,\), got object",
    ),
    "edge_weight, inf": (
        lambda: nn.Graph(EDGES, 2, edge_weight=torch.tensor([1.0, torch.inf])),
        "must not be negative, NaN or infinite, got inf",
    ),
    "power_sums": (lambda: sets.power_sums(PAIRS, 10**9), "degree must be at most 100"),
    "power pools": (lambda: symsets.pool(PAIRS, "power1000"), "another power, up to 100"),
    "many digits": (lambda: symsets.pool(PAIRS, "power" + "9" * 5000), "another power, up to 100"),
    "ReLU": (
        lambda: symsets.DSS(torch.nn.ReLU()),
        r"element must have weights .* got ReLU .* symsets\.Sequential .* or pass context=",
    ),
    "device": (
        lambda: symsets.DSS(torch.nn.BatchNorm1d(3))(PAIRS.to("meta")),
        "x must be on the device of the weights of DSS, cpu, got meta",
    ),
    "kernel": (
        lambda: symsets.DSS(torch.nn.Conv1d(3, 4, 5))(torch.zeros(2, 5, 3, 4)),
        r"x must be sets that DSS takes, got \(2, 5, 3, 4\): .*Kernel size",
    ),
    "context": (
        lambda: symsets.DSS(torch.nn.Linear(3, 4), torch.nn.Linear(5, 4))(PAIRS),
        r"x must be sets that DSS takes, got \(2, 5, 3\): mat1 and mat2",
    ),
    "torch's module": (
        lambda: symsets.Sequential(torch.nn.LayerNorm(4))(PAIRS),
        r"x must be sets that LayerNorm takes, got \(2, 5, 3\)",
    ),
}


def bursts(**options):
    return BurstSets(torch.zeros(2, 3, 16, 16, dtype=torch.uint8), 2, size=16, **options)


@pytest.mark.parametrize("name", NAMED)
def test_wrong_calls_are_named(name):
    call, message = NAMED[name]
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_nothing_is_summarised_by_zeros_not_by_nan():
    for entries in ("sum", "mean", "max"):
        head = nn.Classify(3, 2, entries=entries)
        expected = head(torch.zeros(2, 5, 3, 4))
        torch.testing.assert_close(head(torch.zeros(2, 5, 3, 0)), expected)
    assert train.accuracy(torch.zeros(2, 0), torch.zeros(2).long()).tolist() == [0, 0]


def test_messages_do_not_print_a_million_sizes():
    sizes = [1] * 10**6
    scores = RaggedSets(torch.zeros(10**6), sizes)
    for call in (
        lambda: RaggedSets(torch.zeros(3, 1), sizes),
        lambda: RaggedSets(torch.zeros(3, 1), ["a", *sizes]),
        lambda: symsets.select_loss(scores, torch.ones(10**6).long()),
        lambda: symsets.set_layer(sizes, torch.nn.Linear, 3, 4),
        lambda: symsets.pool(PAIRS, size=sizes),
    ):
        with pytest.raises((ValueError, TypeError)) as caught:
            call()
        assert len(str(caught.value)) < 300


def test_plain_chains_that_are_right_stay():
    linear = torch.nn.Linear
    x = torch.randn(2, 5, 3)
    layer = symsets.DSS(linear(3, 8))
    head = torch.nn.Sequential(nn.Classify(8, 4), torch.nn.BatchNorm1d(4))
    chain = torch.nn.Sequential(layer, torch.nn.ReLU(), linear(8, 8), torch.nn.LayerNorm(8), head)
    assert chain(x).shape == (2, 4)
    assert torch.compile(chain, backend="eager", fullgraph=True)(x).shape == (2, 4)
