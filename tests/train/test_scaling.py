import torch

from symsets.train.scaling import LossScale


def test_scales_grow_again_and_stay_within_bounds():
    scale = LossScale(1, patience=3)
    good, bad = torch.tensor([True]), torch.tensor([False])
    seen = []
    for finite in (bad, good, good, bad, good, good, good, good):
        scale.update(finite)
        seen.append(scale.value.item() / 2**16)
    assert seen == [0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.5, 0.5]
    for _ in range(100):
        scale.update(bad)
    assert scale.value.item() == 2**-10
