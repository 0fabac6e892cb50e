import pytest
import torch

from symsets.experiments.satellite.augmentation import Augmentation


def pictures():
    return torch.rand(6, 4, 5, 5), torch.rand(6, 4, 15, 15), torch.rand(6, 15, 15)


def test_by_default_nothing_changes_and_nothing_is_drawn():
    given, before = pictures(), torch.get_rng_state()
    *changed, factor = Augmentation()(*given)
    assert all(torch.equal(a, b) for a, b in zip(changed, given, strict=True))
    assert torch.equal(factor, torch.ones(6))
    sizes = Augmentation().sizes(torch.tensor([3, 30]), 16)
    assert sizes.tolist() == [3, 16]
    assert torch.equal(torch.get_rng_state(), before)


def test_a_gain_is_that_of_the_whole_set_and_its_truth():
    given = pictures()
    low, fine, truth, factor = Augmentation(gain=0.2)(*given)
    assert len(factor.unique()) == 6
    torch.testing.assert_close(low, given[0] * factor[:, None, None, None])
    torch.testing.assert_close(fine, given[1] * factor[:, None, None, None])
    torch.testing.assert_close(truth, given[2] * factor[:, None, None])


def test_contrast_is_drawn_for_each_picture_and_not_for_the_truth():
    given = pictures()
    low, fine, truth, factor = Augmentation(contrast=0.2)(*given)
    own = low[..., 0, 0] / given[0][..., 0, 0]
    assert len(own.unique()) == 24
    torch.testing.assert_close(fine, given[1] * own[..., None, None])
    assert torch.equal(truth, given[2])
    assert torch.equal(factor, torch.ones(6))


def test_noise_is_the_same_on_both_grids():
    given = pictures()
    low, fine, truth, _ = Augmentation(noise=0.1)(*given)
    noise = low - given[0]
    assert 0.08 < noise.std() < 0.12
    torch.testing.assert_close((fine - given[1])[..., 1::3, 2::3], noise, atol=1e-6, rtol=0)
    assert torch.equal(truth, given[2])


def test_numbers_of_pictures_are_drawn_evenly_from_the_fewest():
    sizes = Augmentation(fewest=5).sizes(torch.tensor([3, 7, 20]).repeat(2000), 16).reshape(-1, 3)
    assert sizes[:, 0].unique().tolist() == [3]
    assert sizes[:, 1].unique().tolist() == [5, 6, 7]
    values, counts = sizes[:, 2].unique(return_counts=True)
    assert values.tolist() == list(range(5, 17))
    assert counts.min() > 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fewest": -1}, "fewest must be at least 1, got -1"),
        ({"gain": -0.1}, "gain must be 0 or positive, got -0.1"),
        ({"noise": float("inf")}, "noise must be finite, got inf"),
    ],
)
def test_wrong_numbers_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        Augmentation(**options)
