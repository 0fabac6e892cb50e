import sys

import numpy as np
import pytest

from symsets._extras import MissingExtraError
from symsets.groups import (
    Cyclic,
    PermutationGroup,
    Symmetric,
    Trivial,
    basis,
    figure,
    parse,
    scheme_text,
)


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
    axes = figure(Symmetric(5) * Cyclic(4)).axes[0]
    assert axes.get_title() == r"$S_{5} \times C_{4}$"
    assert "order $480$" in axes.texts[0].get_text()
    assert "8 parameters" in axes.texts[0].get_text()
    assert figure(parse("C4 wr S5")).axes[0].get_title() == r"$C_{4}\;\wr\;S_{5}$"


def test_titles_keep_the_spaces_of_cycles_and_words():
    ring = PermutationGroup([[*range(1, 12), 0]])
    assert figure(ring).axes[0].get_title().startswith(r"$⟨(0\ 1\ 2\ 3\ 4\ 5\ 6\ 7\ 8\ 9\ 10\ 11)")
    many = PermutationGroup([[*range(1, 24), 0]])
    words = r"1\ \mathrm{permutations\ of}\ 24\ \mathrm{points}"
    assert figure(Symmetric(2) * many).axes[0].get_title() == rf"$S_{{2}} \times ⟨{words}⟩$"


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


def test_text_schemes_have_one_sign_per_parameter():
    lines = scheme_text(parse("C4 wr S5")).splitlines()
    assert lines[0] == "abcd│eeee│eeee│eeee│eeee"
    assert lines[4] == "────┼────┼────┼────┼────"
    assert len(lines) == 24
    assert scheme_text(Symmetric(2)) == "ab\nba"
    assert scheme_text(Cyclic(3).on()) == "a"


def test_text_schemes_use_numbers_when_letters_run_out():
    assert scheme_text(Trivial(8)).splitlines()[-1] == " 56 57 58 59 60 61 62 63"


def test_text_schemes_of_large_groups_say_so():
    text = scheme_text(Symmetric(25) * Cyclic(100))
    assert text.startswith("S25 × C100 acting on 25×100: 2500 points are too many")
