import pytest

from symsets.groups import (
    Cyclic,
    Dihedral,
    DirectSum,
    Symmetric,
    Translations,
    Trivial,
    parse,
    wreath,
)

A, B = Symmetric(3).named("a"), Symmetric(3).named("b")
NAMES = {
    "S5 x C4": Symmetric(5) * Cyclic(4),
    "S5×C4": Symmetric(5) * Cyclic(4),
    " S5*C4 ": Symmetric(5) * Cyclic(4),
    "C8xC8": Translations(8, 8),
    "C4 wr S5": wreath(Cyclic(4), 5),
    "C4wrS5": wreath(Cyclic(4), 5),
    "(C8 x C8) wr S5": wreath(Translations(8, 8), 5),
    "S3 x C4 wr S5": Symmetric(3) * wreath(Cyclic(4), 5),
    "C2 wr S3 wr S4": wreath(wreath(Cyclic(2), 3), 4),
    "S4^2": Symmetric(4).on_tuples(2),
    "S4^2^2": Symmetric(4).on_tuples(4),
    "S4^2 wr S3": wreath(Symmetric(4).on_tuples(2), 3),
    "(S4 x C3)^2": (Symmetric(4) * Cyclic(3)).on_tuples(2),
    "(C4 wr S5)^2": wreath(Cyclic(4), 5).on_tuples(2),
    "S5 x (D6 x I3)": Symmetric(5) * Dihedral(6) * Trivial(3),
    "((S05))": Symmetric(5),
    "S4^2+S4": DirectSum(Symmetric(4).on_tuples(2), Symmetric(4)),
    "S3 [a] x S3[b] + S3[b]": A * B + B,
    "C2 x (S3[a] + S3[b])": Cyclic(2) * (A + B),
    "(C4 wr S5)[a_1]": wreath(Cyclic(4), 5).named("a_1"),
}


@pytest.mark.parametrize("text", NAMES)
def test_names_are_read_as_documented_and_can_be_read_back(text):
    group = parse(text)
    assert parse(str(group)) == group == NAMES[text]
    assert str(parse(str(group))) == str(group)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", r"expected a group such as S5, C4, D6, I3 or '\(' at character 1"),
        ("S5 x Q4", r"'S5 x Q4': expected a group such as .* at character 6"),
        ("S5 x", "expected a group such as .* at character 5"),
        ("S", "expected a group such as"),
        ("S0", "expected a number of points from 1 to 100000 at character 1"),
        ("S5 x C999999", "expected a number of points from 1 to 100000 at character 6"),
        ("S5 C4", r"expected '\+', a product sign, 'wr', '\^' or the end at character 4"),
        ("C4 wr C5", "expected S<n> after 'wr' at character 7"),
        ("(S5 x C4", r"expected '\)' at character 9"),
        ("S5)", "the end at character 3"),
        ("S4^", "expected a power from 1 to 8 at character 4"),
        ("S4^9", "expected a power from 1 to 8 at character 4"),
        ("(" * 5000, "at most 20 brackets inside each other"),
        ("s5", "expected a group such as"),
        ("S3 +", "expected a group such as .* at character 5"),
        ("S3[1]", "the end at character 3"),
    ],
)
def test_wrong_names_say_where_and_what_was_expected(text, expected):
    with pytest.raises(
        ValueError, match=r"text must name a group, got [\s\S]*" + expected
    ) as error:
        parse(text)
    assert "\n" not in str(error.value)


def test_names_must_be_text():
    with pytest.raises(TypeError, match=r"text must be a string such as 'S5 x C4', got 5"):
        parse(5)
