import pytest
import torch

from symsets.data.augment import Augment
from symsets.experiments.colors.sets import ColorSets, grey


def photographs(num=6, size=10):
    """Pictures without a zero, so that an empty channel can be told from a dark one."""
    return torch.randint(1, 256, (num, 3, size, size), dtype=torch.uint8)


def channels(x):
    """Return the one channel ``(B, 6)`` that each element has."""
    has = x.flatten(3).ne(0).any(3)  # (B, 6, 3)
    assert (has.sum(2) == 1).all()
    return has.int().argmax(2)


def test_elements_are_the_channels_of_exactly_two_photographs():
    images = photographs()
    x, y = ColorSets(images, 50, size=10).part(0, 50)
    assert x.shape == y.shape == (50, 6, 3, 10, 10)
    of = torch.stack([(y == image / 255).flatten(2).all(2) for image in images], dim=2).int()
    assert (of.sum(2) == 1).all()  # every target is one of the photographs, bit by bit
    photo, channel = of.argmax(2), channels(x)
    for i in range(50):
        pair = photo[i].unique().tolist()
        assert len(pair) == 2
        assert i % len(images) in pair
        seen = sorted(zip(photo[i].tolist(), channel[i].tolist(), strict=True))
        assert seen == [(p, c) for p in pair for c in range(3)]


@pytest.mark.parametrize("training", [False, True])
def test_every_element_is_a_channel_of_its_own_target(training):
    sets = ColorSets(photographs(size=12), 20, size=10)
    x, y = sets.batch(torch.arange(20)) if training else sets.part(0, 20)
    kept = torch.eye(3)[channels(x)][..., None, None]
    assert torch.equal(x, y * kept)
    assert y.min() > 0
    assert y.max() <= 1


def test_partners_are_any_other_photograph():
    images = photographs(num=4, size=4)
    _, y = ColorSets(images, 4, size=4).batch(torch.zeros(300, dtype=torch.long))
    of = torch.stack([(y == image.flip(-1) / 255).flatten(2).all(2) for image in images], dim=2)
    of |= torch.stack([(y == image / 255).flatten(2).all(2) for image in images], dim=2)
    assert (of.any(1)[:, 0]).all()
    counts = of.any(1)[:, 1:].sum(0)
    assert counts.sum() == 300
    assert (counts - 100).abs().max() < 35  # more than four standard deviations


def test_orders_are_uniform():
    x, y = ColorSets(photographs(num=2, size=2), 1200, size=2).part(0, 1200)
    same = (y == y[:, :1]).flatten(2).all(2)  # whether of the photograph of the first element
    kind = 2 * channels(x) + same  # six kinds of elements
    counts = torch.stack([(kind == k).sum(0) for k in range(1, 6, 2)], dim=1)
    # the first element is of its own photograph, each channel in a third of all sets
    assert (counts[0] - 400).abs().max() < 75  # more than four standard deviations
    # any later one in 2 of 5 cases: 160 for each channel
    assert (counts[1:] - 160).abs().max() < 55
    first = torch.stack([(channels(x) == c).sum(0) for c in range(3)], dim=1)
    assert (first - 400).abs().max() < 75


def test_both_photographs_of_a_training_set_move_alike():
    place = torch.arange(64, dtype=torch.uint8).view(1, 1, 8, 8)
    images = torch.cat([place + 1, place + 101]).expand(2, 3, 8, 8)
    sets = ColorSets(images, 60, size=6)
    y = (255 * sets.batch(torch.arange(60))[1]).round().long()[:, :, 0]
    places = (y - 1) % 100
    assert torch.equal(places, places[:, :1].expand_as(places))
    corners = {(p[0, 0, 0].item(), p[0, 0, -1].item()) for p in places}
    assert len(corners) == 18  # nine crops, each also mirrored
    middle = (255 * sets.part(0, 60)[1]).round().long()[:, :, 0]
    assert torch.equal((middle - 1) % 100, place[0, :, 1:7, 1:7].long().expand(60, 6, 6, 6))


def test_few_sets_are_made_of_the_first_photographs_alone():
    images = photographs(num=6, size=4)
    y = ColorSets(images, 6, size=4).first(3).part(0, 3)[1]
    for image in images[3:]:
        assert not (y == image / 255).flatten(2).all(2).any()
    lone = ColorSets(images, 6, size=4).first(1).part(0, 1)[1]
    assert len(lone[0].unique(dim=0)) == 2


def test_grey_shows_the_one_channel_in_all_three():
    x, y = ColorSets(photographs(), 5, size=10).part(0, 5)
    shown = grey(x)
    assert shown.shape == y.shape
    assert torch.equal(shown, x.sum(2, keepdim=True).expand_as(x))
    errors = (shown - y).abs().flatten(3).mean(3)  # (B, 6, 3)
    assert (errors.gather(2, channels(x)[..., None]) == 0).all()
    assert (errors == 0).sum() == 30


def test_pictures_that_move_are_those_of_the_augmentation():
    images = photographs(num=2, size=8)
    torch.manual_seed(5)
    _, y = ColorSets(images, 2, size=8).batch(torch.tensor([0]))
    mirrored = Augment(8)(images[None].flip(-1), move=False)[0] / 255
    for target in y[0]:
        assert any(torch.equal(target, p) for p in (*(images / 255), *mirrored))


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"crop must be in 1\.\.10, got 64"):
        ColorSets(photographs(), 5).part(0, 1)
