import pytest

from symsets.groups import (
    Cyclic,
    Dihedral,
    Symmetric,
    Translations,
    Trivial,
    order_text,
    parse,
    tensor_power,
    wreath,
)

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
    "S4^2": tensor_power(Symmetric(4), 2),
    "S4^2^2": tensor_power(Symmetric(4), 4),
    "S4^2 wr S3": wreath(tensor_power(Symmetric(4), 2), 3),
    "(S4 x C3)^2": tensor_power(Symmetric(4) * Cyclic(3), 2),
    "(C4 wr S5)^2": tensor_power(wreath(Cyclic(4), 5), 2),
    "S5 x (D6 x I3)": Symmetric(5) * Dihedral(6) * Trivial(3),
    "((S05))": Symmetric(5),
}


@pytest.mark.parametrize("text", NAMES)
def test_names_are_read_as_documented(text):
    assert parse(text) == NAMES[text]


@pytest.mark.parametrize("text", NAMES)
def test_names_can_be_read_back(text):
    group = parse(text)
    assert parse(str(group)) == group
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
        ("S5 C4", r"expected a product sign, 'wr', '\^' or the end at character 4"),
        ("C4 wr C5", "expected S<n> after 'wr' at character 7"),
        ("(S5 x C4", r"expected '\)' at character 9"),
        ("S5)", "the end at character 3"),
        ("S4^", "expected a power from 1 to 8 at character 4"),
        ("S4^9", "expected a power from 1 to 8 at character 4"),
        ("(" * 5000, "at most 20 brackets inside each other"),
        ("s5", "expected a group such as"),
    ],
)
def test_wrong_names_say_where_and_what_was_expected(text, expected):
    with pytest.raises(
        ValueError, match=r"text must name a group, got [\s\S]*" + expected
    ) as error:
        parse(text)
    assert "\n" not in str(error.value)


def test_orders_are_written_out_or_rounded():
    assert order_text(wreath(Cyclic(4), 5)) == "122880"
    assert order_text(Symmetric(1000)) == "4.02·10^2567"
    assert order_text(Translations(*[10] * 12)) == "1.00·10^12"
    assert order_text(Translations(999_999_999_999 // 3, 3)) == "999999999999"


def test_orders_too_long_to_be_written_are_rounded_at_once():
    assert order_text(parse("S50000 wr S100")) == "2.75·10^21323810"
    assert order_text(parse("(S100000 wr S100000) wr S9")) == "10^410920214976"
    assert order_text(parse("S1000 x S1000^2")) == "1.62·10^5135"


def test_names_must_be_text():
    with pytest.raises(TypeError, match=r"text must be a string such as 'S5 x C4', got 5"):
        parse(5)
