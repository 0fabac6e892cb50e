"""Check the symmetry that a network promises."""

from symsets.testing.equivariance import assert_equivariant, equivariance_error, roll

__all__ = ["equivariance_error", "assert_equivariant", "roll"]
