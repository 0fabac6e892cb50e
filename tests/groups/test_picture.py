import sys

import numpy as np
import pytest

from symsets._extras import MissingExtraError
from symsets.groups import Cyclic, Symmetric, Translations, Trivial, basis, describe, figure, parse


@pytest.mark.parametrize("text", ["S5 x C4", "C4 wr S5", "S3^2", "I3", "S1"])
def test_every_parameter_has_its_own_colour(text):
    group = parse(text)
    image = figure(group).axes[0].images[0].get_array()
    labels = basis(group)
    colours = {tuple(np.round(image[labels == e][0], 3)) for e in range(labels.max() + 1)}
    assert len(colours) == labels.max() + 1
    for e in range(labels.max() + 1):
        assert (image[labels == e] == image[labels == e][0]).all()


def test_the_title_says_what_is_drawn():
    axes = figure(parse("C4 wr S5")).axes[0]
    assert axes.get_title() == "C4 wr S5 acting on 5×4"
    assert axes.texts[0].get_text() == "order 122880, 5 parameters"


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_figures_are_saved_by_their_ending(tmp_path, ending):
    path = tmp_path / f"scheme.{ending}"
    figure(parse("S10 x S12"), path)
    assert path.stat().st_size > 1000


def test_wrong_figures_are_refused(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="at most 400 points, S25 × C100 acting on 25×100 is too"):
        figure(Symmetric(25) * Cyclic(100))
    with pytest.raises(ValueError, match=r"path must end in one of .*, got 'a\.txt'"):
        figure(Cyclic(3), "a.txt")

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    # The command line turns this error, and not any ImportError, into one line.
    with pytest.raises(MissingExtraError, match=r"pip install 'symsets\[experiments\]'"):
        figure(Cyclic(3))


def test_descriptions_have_one_sign_per_parameter():
    lines = describe(parse("C4 wr S5")).splitlines()
    assert lines[:3] == [
        "group      C4 wr S5 acting on 5×4",
        "order      122880",
        "dimension  5  (free parameters of an equivariant layer)",
    ]
    assert lines[4] == "abcd│eeee│eeee│eeee│eeee"
    assert lines[8] == "────┼────┼────┼────┼────"
    assert len(lines) == 28
    assert describe(Symmetric(2)).endswith("\n\nab\nba")
    assert describe(Cyclic(3).on()).endswith("\n\na")


def test_descriptions_use_numbers_when_letters_run_out():
    assert describe(Trivial(8)).splitlines()[-1] == " 56 57 58 59 60 61 62 63"


def test_schemes_of_large_groups_are_not_written_out():
    text = describe(Symmetric(25) * Cyclic(100))
    assert text.endswith("\n\n2500 points are too many to write their scheme out.")


def test_schemes_are_as_wide_as_asked_for_at_most():
    group = parse("S3 x S3 x S3 x S3")  # 3 blocks of 27 points, and 2 bars
    assert max(map(len, describe(group, 83).splitlines()[4:])) == 83
    said = "\n\n81 points are too many to write their scheme out; --figure draws it."
    assert describe(group, 82).endswith(said)
    assert describe(Symmetric(150), 1000).endswith("out; --figure draws it.")


@pytest.mark.parametrize(
    ("group", "order"),
    [
        (Symmetric(1000), "4.02·10^2567"),
        (Translations(*[10] * 12), "1.00·10^12"),
        (parse("C99999 x C99999 x C99"), "989980200099"),
        (parse("S50000 wr S100"), "2.75·10^21323810"),
        (parse("S100000 wr S100000"), "10^45657801663"),
    ],
    ids=str,
)
def test_orders_are_written_out_or_rounded(group, order):
    assert f"order      {order}\n" in describe(group)
