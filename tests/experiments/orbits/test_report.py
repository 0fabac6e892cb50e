import sys

import pytest

from symsets.experiments.orbits.experiment import HEIGHTS, MODELS, Outcome
from symsets.experiments.orbits.report import CLEARLY_ABOVE_CHANCE, conclusions, figure
from symsets.experiments.study.records import Record


def outcomes(**accuracies):
    """One outcome per model and setting; at chance where nothing else is said."""
    return [
        Outcome(
            Record(
                experiment="orbits",
                model=model,
                setting=setting,
                metric="accuracy",
                value=accuracies.get(model.replace("-", "_"), (0.5, 0.5))[k],
            ),
            largest_difference=3e-8 if model == "siamese" else 1e-8,
        )
        for k, setting in enumerate(HEIGHTS)
        for model in MODELS
    ]


@pytest.mark.parametrize(
    ("accuracies", "any_sum", "equal_sums"),
    [
        (
            {"dss_sum": (0.9, 0.5), "dss_power2": (0.9, 0.8), "dss_sum_twice": (0.9, 0.7)},
            "Any sum: told apart by DSS(sum), one layer; DSS(powers), one layer; DSS(sum), two "
            "layers.",
            "Equal sums: told apart by DSS(powers), one layer; DSS(sum), two layers.",
        ),
        (
            {"dss_power2": (0.7, 0.65)},
            "Any sum: told apart by DSS(powers), one layer. Training was too short for DSS(sum), "
            "one layer; DSS(sum), two layers: try more --steps.",
            "Equal sums: told apart by DSS(powers), one layer. Training was too short for "
            "DSS(sum), two layers: try more --steps.",
        ),
        (
            {"dss_sum": (CLEARLY_ABOVE_CHANCE, 0.5)},
            "Any sum: told apart by no network. Training was too short for DSS(sum), one layer; "
            "DSS(powers), one layer; DSS(sum), two layers: try more --steps.",
            "Equal sums: told apart by no network. Training was too short for DSS(powers), one "
            "layer; DSS(sum), two layers: try more --steps.",
        ),
    ],
)
def test_conclusions_are_what_was_measured(accuracies, any_sum, equal_sums):
    alike, *told = conclusions(outcomes(**accuracies))
    assert "by rounding (3e-08)" in alike
    assert told == [any_sum, equal_sums]


def test_a_guess_is_not_clearly_above_chance():
    assert 0.52 < CLEARLY_ABOVE_CHANCE < 0.55


def test_the_figure_needs_no_screen(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    figure(outcomes(), tmp_path / "orbits.png")
    assert (tmp_path / "orbits.png").stat().st_size > 0


@pytest.mark.parametrize("seeds", [1, 3])
def test_several_runs_are_dots_on_their_bar(tmp_path, monkeypatch, seeds):
    seen = []
    monkeypatch.setattr(
        "matplotlib.figure.Figure.savefig", lambda self, *_, **__: seen.append(self.axes[2])
    )
    several = [o for k in range(seeds) for o in outcomes(dss_power2=(0.9 + k / 100, 0.99))]
    figure(several, tmp_path / "orbits.png")
    dots = sorted(x for line in seen[0].lines for x in line.get_xdata() if 51 < x < 98)
    assert dots == pytest.approx([90, 91, 92] if seeds == 3 else [])
    assert ("dots: runs" in seen[0].get_xlabel()) == (seeds == 3)
