"""Our convolution of pictures is that of torch."""

import pytest
import torch
from torch import nn

from symsets import DSS, lift
from symsets.models._convolution import Conv2d


@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1}, {"bias": False}])
def test_it_is_the_convolution_of_torch(options):
    ours, torchs = Conv2d(3, 5, 3, **options), nn.Conv2d(3, 5, 3, **options)
    torchs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 3, 6, 7)
    assert torch.equal(ours(x), torchs(x))


def test_it_is_taken_for_a_convolution_of_torch():
    with pytest.raises(ValueError, match=r"\(B, N, 3, H, W\) for the Conv2d in DSS"):
        DSS(Conv2d(3, 8, 3))(torch.randn(2, 4, 5, 8, 8))
    assert lift(Conv2d(3, 8, 3))(torch.randn(2, 4, 3, 8, 8)).shape == (2, 4, 8, 6, 6)
