"""Files that could not be used are named, up to ten of them."""

import pytest

from symsets.tools.left_out import left_out_lines


@pytest.mark.parametrize(("num", "last"), [(1, "left out: 0.png: empty"), (11, "and 1 more")])
def test_up_to_ten_files_are_named_with_their_reasons(num, last):
    lines = left_out_lines([(f"{k}.png", "empty") for k in range(num)])
    assert lines[0] == "left out: 0.png: empty"
    assert lines[-1] == last
    assert len(lines) == num


def test_nothing_is_said_where_nothing_was_left_out():
    assert left_out_lines([]) == []
