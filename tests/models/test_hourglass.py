import torch

from symsets.models.hourglass import Hourglass


def test_an_hourglass_sees_far():
    glass = Hourglass("siamese", [4, 4, 4], [2, 2, 1]).double()
    for parameter in glass.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    x = torch.randn(1, 1, 4, 32, 32, dtype=torch.float64)
    other = x.clone()
    other[..., 0, 0] += 1
    changed = (glass(other) - glass(x)).abs().amax((0, 1, 2)) > 0
    assert changed[8:, 8:].any()  # further than the four 3×3 convolutions of the finest see
