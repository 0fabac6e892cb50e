"""A scheme of your own: let every element hear by how much the best of its set stands out.

``python examples/own_scheme.py`` shows the layer and checks its symmetry. To compare it with those
of the paper, in the networks of the paper, on any of its experiments:

    symsets run signals --preset smoke --import examples/own_scheme.py --models contrast,dss-sum
"""

import torch
from torch import Tensor, nn

from symsets import RaggedSets, register_scheme, set_layer
from symsets.nn import AdditiveSetLayer
from symsets.nn.registry import Make
from symsets.sets import Sets, pool, spread
from symsets.testing import equivariance_error

EXPECTED = "at most about 1e-16"


class Contrast(AdditiveSetLayer):
    """element(x_i) + max_j element(x_j) - mean_j element(x_j)."""

    formula = "element(x_i) + max_j element(x_j) - mean_j element(x_j)"

    def message(self, x: Sets, *args: object) -> Tensor:
        """Return what all elements of a set hear."""
        y = self.map(x, *args)
        return spread(pool(y, "max") - pool(y, "mean"), y)  # dense and ragged sets alike


@register_scheme("contrast")
def contrast(make: Make, in_channels: int, out_channels: int, *, size: float) -> Contrast:
    """Make a layer, given what makes a map for one element."""
    return Contrast(make(in_channels, out_channels))


def main() -> float:
    """Show a layer, and return how far it is from reordering its output with its input."""
    torch.manual_seed(0)
    layer = set_layer("contrast", nn.Linear, 3, 8)
    print(layer)
    error = equivariance_error(layer, RaggedSets(torch.randn(6, 3), sizes=[4, 2]))
    print(f"equivariance error {error:.0e} (expect {EXPECTED})")
    return error


if __name__ == "__main__":
    main()
