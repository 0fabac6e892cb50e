"""Claims of the paper, judged by our numbers."""

from dataclasses import replace

import pytest

from symsets.experiments.report.comparison import Comparison, Score
from symsets.experiments.report.headline import headline
from symsets.experiments.report.load_records import load_records
from symsets.experiments.report.published import Beats, Below, Claim
from symsets.experiments.report.runs import Run
from symsets.experiments.report.verdicts import judge, verdicts
from symsets.experiments.study.records import read_records, write_records


def compare(experiment="signals", metric="accuracy", setting="", **values):
    scores = {
        (100, metric, model.replace("_", "-")): Score(tuple(v)) for model, v in values.items()
    }
    return Comparison(experiment, setting, "", "ours", "", "test", scores)


def near(value, by=0.002):
    """Three runs around a value."""
    return [value - by, value, value + by]


def beats(a, b, margin=0.0):
    return Claim("a is better than b.", Beats((a,), (b,), margin))


def test_claims_about_signals_get_all_three_verdicts(signals):
    (comparison,) = load_records([signals]).comparisons
    found = [(v.state, v.reason) for v in verdicts(comparison)]
    assert [state for state, _ in found] == [
        "cannot be judged yet",  # most rivals were not run
        "cannot be judged yet",  # no DeepSets
        "cannot be judged yet",  # no Siamese+DS
        "holds",
    ]
    assert "no result for MLP, DeepSets, DeepSets(max), Siamese+DS" in found[0][1]
    assert "DSS(Sridhar) is at chance: DSS(sum) is 62.00 points better" in found[0][1]
    assert "1 of 8 comparisons agree so far" in found[0][1]
    assert found[2][1] == "no result for Siamese+DS; 1 of 2 comparisons agree so far"
    assert found[3][1] == "DSS(Sridhar) reaches 35.00 ± 0.71 %"


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ({"dss_sum": near(0.9), "siamese": near(0.6)}, "holds"),
        ({"dss_sum": near(0.6), "siamese": near(0.9)}, "does not hold"),
        ({"dss_sum": near(0.9), "siamese": near(0.9)}, "cannot be judged yet"),
        ({"dss_sum": [0.9], "siamese": [0.6]}, "cannot be judged yet"),  # one run each
        ({"dss_sum": near(0.9), "siamese": [0.6]}, "holds"),  # three runs tell how runs vary
        ({"dss_sum": near(0.6), "random": [0.3]}, "cannot be judged yet"),
        ({"dss_sum": [0.9]}, "cannot be judged yet"),
        ({"dss_sum": [0.9], "siamese": []}, "cannot be judged yet"),  # all runs failed
        ({"dss_sum": [0.5, 0.7], "siamese": [0.4, 0.7]}, "cannot be judged yet"),  # noise
        ({"dss_sum": [0.60, 0.62], "siamese": [0.40, 0.42]}, "holds"),
    ],
)
def test_a_comparison_is_judged_by_means_and_noise(values, state):
    assert judge(beats("dss-sum", "siamese"), compare(**values)).state == state


def test_a_lower_error_is_better():
    claim = beats("dss-sum", "siamese-ds")
    better = compare("colors", "mae", dss_sum=near(1.0), siamese_ds=near(8.0))
    worse = compare("colors", "mae", dss_sum=near(8.0), siamese_ds=near(1.0))
    assert judge(claim, better).reason == "DSS(sum) is 7.00 better than Siamese+DS"
    assert judge(claim, worse).reason == "DSS(sum) is 7.00 worse than Siamese+DS"
    assert [judge(claim, c).state for c in (better, worse)] == ["holds", "does not hold"]


def test_the_error_of_the_test_sets_counts_beside_that_of_initialisations():
    claim = beats("dss-sum", "siamese-ds")

    def runs(a, b, sets):
        values = {"dss-sum": near(a, 1e-4), "siamese-ds": near(b, 1e-4)}
        found = {(100, "accuracy", m): Score(tuple(v), share_of=sets) for m, v in values.items()}
        return Comparison("quality", "", "", "ours", "", "test", found)

    close = judge(claim, runs(0.601, 0.5925, 2000))  # two errors are three points
    assert close.state == "cannot be judged yet"
    assert "too close: DSS(sum) is 0.85 points better" in close.reason
    assert judge(claim, runs(0.601, 0.5925, 200_000)).state == "holds"
    assert judge(claim, runs(0.65, 0.5925, 2000)).state == "holds"


def test_one_run_each_says_nothing_about_another_one():
    found = judge(beats("dss-sum", "siamese"), compare(dss_sum=[0.9], siamese=[0.6]))
    assert found.state == "cannot be judged yet"
    assert found.reason == "one run each: DSS(sum) is 30.00 points better than Siamese"
    single = {
        (100, "accuracy", m): Score((v,), share_of=2000)
        for m, v in (("dss-sum", 0.601), ("siamese-ds", 0.5925))
    }
    text = headline(Comparison("quality", "", "", "ours", "", "test", single))
    assert "within the noise" in text


def test_a_network_at_chance_never_trained():
    claim = beats("dss-sum", "siamese")
    chance = compare(dss_sum=near(0.9), siamese=near(1 / 3))
    assert judge(claim, chance).state == "cannot be judged yet"
    assert "Siamese is at chance: DSS(sum) is 56.67 points better" in judge(claim, chance).reason
    assert judge(claim, compare(dss_sum=near(0.9), siamese=near(0.36))).state == "holds"
    scores = {
        (100, "accuracy", "dss-sum"): Score(tuple(near(0.9)), share_of=300),
        (100, "accuracy", "siamese"): Score(tuple(near(0.36)), share_of=300),
    }
    few = Comparison("signals", "", "", "ours", "", "test", scores)
    assert "Siamese is at chance" in judge(claim, few).reason  # two errors are five points


@pytest.mark.parametrize(
    ("epochs", "state"), [(0, "holds"), (19, "cannot be judged yet"), (20, "holds")]
)
def test_a_tenth_of_the_published_epochs_is_the_least(epochs, state):
    scores = {
        (100, "accuracy", "dss-sum"): Score(tuple(near(0.9)), epochs=100),
        (100, "accuracy", "siamese"): Score(tuple(near(0.6)), epochs=epochs),
    }
    found = judge(
        beats("dss-sum", "siamese"), Comparison("signals", "", "", "ours", "", "test", scores)
    )
    assert found.state == state
    assert (f"{epochs} of 200 published epochs" in found.reason) == (state != "holds")


def test_a_network_that_stops_early_had_all_epochs_that_it_was_allowed(tmp_path):
    scores = {(100, "accuracy", "siamese"): Score(tuple(near(0.6)), epochs=12)}
    config = {"model": "siamese", "train_size": 100, "epochs": 200}
    runs = [Run(tmp_path, config, "accuracy")]
    known = Comparison("signals", "", "", "ours", "", "test", scores, runs)
    assert known.epochs("siamese") == 200
    assert Comparison("signals", "", "", "ours", "", "test", scores).epochs("siamese") == 12


def test_a_published_size_stands_beside_ours():
    found = compare("frames", dss_sum=near(0.9), siamese_ds=near(0.6))
    reason = judge(beats("dss-sum", "siamese-ds"), found).reason
    assert reason == (
        "DSS(sum) is 30.00 points better than Siamese+DS (published: 40.19 points better)"
    )


def test_gathered_accuracies_know_their_test_sets_and_other_numbers_do_not(tmp_path, signals):
    records = [
        replace(r, experiment="quality", preset="paper")
        for r in read_records(signals / "results.json")
    ]
    write_records(tmp_path / "results.json", records)
    (comparison,) = load_records([tmp_path]).comparisons
    assert {score.share_of for score in comparison.scores.values()} == {2000}
    for other in ({"metric": "mae"}, {"preset": "mine"}, {"experiment": "mine"}, {"split": "val"}):
        write_records(tmp_path / "results.json", [replace(r, **other) for r in records])
        (comparison,) = load_records([tmp_path]).comparisons
        assert {score.share_of for score in comparison.scores.values()} == {0}


def test_a_large_margin_must_be_large():
    comparison = compare(dss_sum=near(0.65), siamese=near(0.6))
    assert judge(beats("dss-sum", "siamese"), comparison).state == "holds"
    assert judge(beats("dss-sum", "siamese", 0.1), comparison).state == "does not hold"


def test_one_refutation_is_enough_even_if_others_are_missing():
    claim = Claim("best", Beats(("dss-sum",), ("mlp", "siamese")))
    assert judge(claim, compare(dss_sum=near(0.5), siamese=near(0.6))).state == "does not hold"


def test_failing_means_staying_below():
    claim = Claim("fails", Below("sridhar", 0.45))
    assert judge(claim, compare(sridhar=near(0.34))).state == "holds"
    assert judge(claim, compare(sridhar=near(0.8))).state == "does not hold"
    assert judge(claim, compare(sridhar=[0.35, 0.56])).state == "cannot be judged yet"
    assert judge(claim, compare(mlp=[0.8])).state == "cannot be judged yet"


def test_claims_of_other_settings_are_left_out():
    cars = compare("views", "chamfer", "cars", dss_sum=near(0.1), sridhar=near(0.2))
    assert [v.state for v in verdicts(cars)] == ["holds"]
    chairs = compare("views", "chamfer", "chairs", dss_sum=near(0.1), sridhar=near(0.2))
    assert [v.state for v in verdicts(chairs)] == ["does not hold"]


def test_the_paper_claims_nothing_about_an_experiment_of_your_own():
    assert verdicts(compare("mine", dss_sum=[0.5])) == []


MODELS = ("siamese_ds", "dss_sum", "dss_max", "sridhar", "aittala")
POINTS = {model: near(0.4) for model in MODELS}
BETTER, WORSE, CLOSE = near(0.5), near(0.3), [0.3, 0.52]


@pytest.mark.parametrize(
    ("graphs", "state", "reason"),
    [
        ((BETTER, BETTER, BETTER, BETTER, WORSE), "holds", "4 of 5 models are better"),
        ((BETTER, BETTER, BETTER, WORSE, WORSE), "does not hold", "3 of 5 models are better"),
        ((BETTER, BETTER, WORSE, WORSE, CLOSE), "does not hold", "2 of 5 models are better"),
        ((BETTER, BETTER, BETTER, WORSE, CLOSE), "cannot be judged yet", "points, 1 too close"),
        ((BETTER, BETTER, BETTER, BETTER, CLOSE), "holds", "4 of 5 models are better"),
    ],
)
def test_almost_all_models_must_improve_over_another_setting(graphs, state, reason):
    points = compare("shapes", setting="points", **POINTS)
    here = compare("shapes", setting="graphs", **dict(zip(MODELS, graphs, strict=True)))
    *_, found = verdicts(here, [points])
    assert found.state == state
    assert reason in found.reason


def test_a_claim_about_two_settings_waits_for_both():
    *_, found = verdicts(compare("shapes", setting="graphs", **POINTS))
    assert found.state == "cannot be judged yet"
    assert "no result for" in found.reason


def test_a_smoke_run_claims_no_more_than_that_it_ran(signals):
    path = signals / "results.json"
    write_records(path, [replace(r, preset="smoke") for r in read_records(path)])
    text = headline(load_records([signals]).comparisons[0])
    assert text.endswith("The preset smoke only shows that everything runs.")


def test_the_headline_says_who_is_best_and_by_how_much(signals, colors):
    assert headline(load_records([signals]).comparisons[0]) == (
        "DSS(sum) is the best network: accuracy 97.00 ± 1.00 % with 3,000 training sets, "
        "32.00 points better than the best Siamese variant (Siamese, 65.00 ± 5.00 %)."
    )
    assert headline(load_records([colors]).comparisons[0]) == (
        "DSS(Aittala) is the best network: MAE 1.60 ± 0.10 with 500 training sets, "
        "6.50 better than the best Siamese variant (Siamese+DS, 8.10 ± 0.10)."
    )


def test_the_headline_is_honest_when_siamese_wins_or_noise_decides():
    assert "0.10" not in headline(compare(dss_sum=[0.9]))
    won = headline(compare(siamese=[0.9], dss_sum=[0.8], random=[0.99]))
    assert won.startswith("Siamese is the best network")
    assert "the best network that is not Siamese (DSS(sum), 80.00 %)" in won
    close = headline(compare(dss_sum=[0.5, 0.7], siamese=[0.4, 0.7]))
    assert close.endswith("a difference within the noise.")
    second = headline(compare(dss_sum=[0.9], mlp=[0.8]))
    assert "10.00 points better than the next best (MLP, 80.00 %)" in second
    assert headline(compare(metric="sparkle", dss_sum=[0.5])) == ""
    assert headline(compare(dss_sum=[])) == ""


def test_headline_and_verdict_agree_on_what_is_noise():
    """Two standard errors of three runs each are less than their spread explains."""
    apart = compare(dss_sum=near(0.618, by=0.01), siamese=near(0.6, by=0.01))
    assert "too close" in judge(beats("dss-sum", "siamese"), apart).reason
    assert headline(apart).endswith("a difference within the noise.")
    clear = compare(dss_sum=near(0.625, by=0.01), siamese=near(0.6, by=0.01))
    assert judge(beats("dss-sum", "siamese"), clear).state == "holds"
    assert "noise" not in headline(clear)


def test_models_that_tie_are_called_equal():
    tied = compare(dss_sum=[0.125], siamese=[0.125])
    assert (
        headline(tied) == "DSS(sum) and Siamese are equal: accuracy 12.50 % with 100 training sets."
    )
    three = headline(compare(dss_sum=[0.5], dss_max=[0.50001], siamese=[0.4]))
    assert three.startswith("DSS(max) and DSS(sum) are best: accuracy 50.00 % with 100")
    assert "10.00 points better than the best Siamese variant (Siamese, 40.00 %)" in three
    mixed = headline(compare(dss_sum=[0.5], siamese=[0.5], mlp=[0.4]))
    assert mixed.endswith("10.00 points better than the next best (MLP, 40.00 %).")


def test_a_claim_about_models_that_tie_says_that_they_are_equal():
    verdict = judge(beats("dss-sum", "siamese", 0.1), compare(dss_sum=near(0.5), siamese=near(0.5)))
    assert (verdict.state, verdict.reason) == ("does not hold", "DSS(sum) and Siamese are equal")


def test_the_headline_tells_if_nothing_was_learnt():
    lost = headline(compare(dss_sum=[0.1], random=[0.2]))
    assert lost.endswith("No network is better than the random choice (20.00 %).")
    assert "No network" not in headline(compare(dss_sum=[0.3], random=[0.2]))


def test_small_presets_say_nothing_about_the_paper():
    scores = {(100, "accuracy", m): Score((v,)) for m, v in (("dss-sum", 0.9), ("siamese", 0.5))}
    smoke = Comparison("signals", "", "", "ours", "smoke", "test", scores)
    found = judge(beats("dss-sum", "siamese"), smoke)
    assert (found.state, found.reason) == (
        "cannot be judged yet",
        "preset smoke is too small for that",
    )


def test_the_headline_tells_a_single_run_from_a_mean():
    one = headline(compare(aittala=[0.6], siamese_ds=[0.58, 0.6]))
    assert "accuracy 60.00 % (one run) with" in one
    other = headline(compare(dss_sum=[0.8, 0.9], siamese=[0.5]))
    assert "(Siamese, 50.00 %, one run)" in other
    assert "one run" not in headline(compare(dss_sum=[0.8], siamese=[0.5]))
