import pytest

from symsets.sets import collate


def test_nothing_to_collate_gets_a_sentence():
    with pytest.raises(ValueError, match="at least one sample"):
        collate([])
