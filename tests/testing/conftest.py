import pytest

from symsets.testing import assert_equivariant, equivariance_error


@pytest.fixture
def fails():
    """Check that a model fails, with a message that matches."""

    def check(model, x, match, **options):
        assert equivariance_error(model, x, **options) > 1e-3
        with pytest.raises(AssertionError, match=match):
            assert_equivariant(model, x, **options)

    return check
