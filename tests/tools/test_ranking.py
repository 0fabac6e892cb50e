import pytest
import torch
from shots import Slopes, blurred, scene

from symsets import saving
from symsets.models import BestNetwork
from symsets.saving import save
from symsets.tools.ranking import MOST, SMALL, WINDOW, WINDOWS, rank

WIDTHS = (3.0, 0.0, 1.0, 6.0)


def spoilt(picture):
    return [blurred(picture, width) if width else picture for width in WIDTHS]


@pytest.mark.parametrize("size", [(120, 100), (400, 500)])
def test_the_sharper_the_better(size):
    scores = rank(spoilt(scene(*size)), network=Slopes(), device="cpu")
    assert scores.argsort(descending=True).tolist() == [1, 2, 0, 3]
    assert scores.mean().abs() < 1e-4
    assert scores.max() - scores.min() > 3  # decibels


def test_scores_move_with_the_shots():
    net = BestNetwork(channels=(4, 4), num_blocks=(1, 1), hidden=(4,))
    shots = torch.stack(spoilt(scene(300, 260)))
    scores, order = rank(shots, network=net, device="cpu"), torch.tensor([2, 0, 3, 1])
    assert scores.std() > 0
    torch.testing.assert_close(rank(shots[order], network=net, device="cpu"), scores[order])


def test_the_network_sees_a_small_copy_and_the_same_parts_of_all_shots():
    whole, corners = scene(460, 600), ((20, 20), (45, 5), (0, 40))
    shots = [whole[:, top : top + 400, left : left + 540] for top, left in corners]
    net = Slopes()
    rank(shots, network=net, device="cpu")
    small, *parts = (seen[0] for seen in net.seen)
    assert small.shape == (3, 3, round(SMALL * 400 / 540), SMALL)
    assert 1 <= len(parts) <= WINDOWS
    for part in parts:
        assert part.shape == (3, 3, WINDOW, WINDOW)
        contrast = part.std()
        inner = part[..., 40:-40, 40:-40]  # a window at the border of a shot may have to move
        assert (inner - inner[:1]).abs().mean() < 0.5 * contrast


def test_parts_are_cut_out_in_full_size_where_there_is_detail():
    rows, columns = torch.arange(500) / 1000, torch.arange(700) / 1000
    place = torch.stack([rows[:, None].expand(500, 700), columns.expand(500, 700)])
    texture = torch.full((1, 500, 700), 0.5)
    texture[:, 300:480, 480:680] = scene(180, 200, softness=2.0)[:1]
    shot = torch.cat([place, texture])
    net = Slopes()
    rank([shot, shot], network=net, device="cpu")
    first = net.seen[1][0, 0]
    top, left = round(1000 * first[0, 0, 0].item()), round(1000 * first[1, 0, 0].item())
    assert torch.equal(first, shot[:, top : top + WINDOW, left : left + WINDOW])
    assert 284 <= top <= 304  # from 288 to 300 it holds all rows of the texture
    assert 476 <= left <= 492


def test_larger_shots_are_made_as_small_as_the_smallest():
    picture = scene(300, 400)
    twice = torch.nn.functional.interpolate(picture[None], scale_factor=2, mode="bicubic")[0]
    shots = [twice.clamp(0, 1), picture, blurred(picture, 2.0), picture[:, :, :290]]
    net = Slopes()
    scores = rank(shots, network=net, device="cpu")
    assert all(seen.shape[1:3] == (4, 3) for seen in net.seen)
    assert scores.argmin() == 2
    assert abs(scores[0] - scores[1]) < 0.5 * (scores[1] - scores[2])
    torch.testing.assert_close(
        rank([shots[3], *shots[:3]], network=net, device="cpu"), scores.roll(1)
    )


def test_grey_shots_shots_of_other_scenes_and_one_alone_are_ranked():
    grey = scene(300, 300)[:1]
    other = torch.rand(3, 300, 300)
    assert rank([grey, other, blurred(grey, 2.0)], network=Slopes(), device="cpu").isfinite().all()
    assert rank([grey], network=Slopes(), device="cpu").tolist() == [0]


def test_a_sequence_may_read_shots_when_it_is_asked():
    class Lazy(list):
        asked = 0

        def __getitem__(self, k):
            Lazy.asked += 1
            return super().__getitem__(k)

    shots = spoilt(scene(300, 300))
    lazy = rank(Lazy(shots), network=Slopes(), device="cpu")
    assert torch.equal(lazy, rank(shots, network=Slopes(), device="cpu"))
    assert Lazy.asked == 2 * len(shots)


def test_the_network_of_the_package_is_taken_even_beside_a_folder_of_its_name(
    tmp_path, monkeypatch
):
    net = BestNetwork(channels=(4,), num_blocks=(1,), hidden=(4,))
    save(net, tmp_path / "package" / "best")
    (tmp_path / "photos" / "best").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "photos")
    shots = spoilt(scene(60, 60))
    expected = rank(shots, network=net, device="cpu")
    monkeypatch.setattr(saving, "PRETRAINED", tmp_path / "package")
    assert torch.equal(rank(shots, device="cpu"), expected)
    monkeypatch.setattr(saving, "PRETRAINED", tmp_path / "photos")
    with pytest.raises(
        FileNotFoundError, match="this copy of symsets has no trained network 'best'"
    ):
        rank(shots, device="cpu")


def test_a_network_stays_in_training():
    net = BestNetwork(channels=(4,), num_blocks=(1,), hidden=(4,)).train()
    rank([GOOD, GOOD], network=net, device="cpu")
    assert net.training


GOOD = torch.rand(3, 20, 20)


@pytest.mark.parametrize(
    ("shots", "error", "message"),
    [
        ([], TypeError, "shots must be pictures .C, H, W., at least one, got"),
        ("photos", TypeError, "shot 0 must be a picture"),
        (7, TypeError, "shots must be pictures"),
        ([GOOD, GOOD[0]], TypeError, "shot 1 must be a picture"),
        ([GOOD, GOOD[:2]], ValueError, "one or three channels .* for shot 1"),
        ([GOOD[:, :8]], ValueError, "16 pixels or more on each side, got shape"),
        ([GOOD, 255 * GOOD], ValueError, "as in x / 255, got torch.float32 from .* for shot 1"),
        ([GOOD / 0 * 0], ValueError, "values in .0, 1., as in x / 255, got .* from nan to nan"),
        ([(2 * GOOD).byte()], ValueError, "values in .0, 1., as in x / 255, got torch.uint8"),
        ([GOOD] * (MOST + 1), ValueError, "shots must be 200 or fewer of one scene, got 201"),
    ],
)
def test_what_cannot_be_ranked_is_named(shots, error, message):
    with pytest.raises(error, match=message):
        rank(shots, network=Slopes(), device="cpu")


def test_other_arguments_are_named():
    with pytest.raises(TypeError, match="network must be a network, got str"):
        rank([GOOD], network="best")
    with pytest.raises(ValueError, match="device must be one of"):
        rank([GOOD], network=Slopes(), device="gpu")


@pytest.mark.parametrize("bits", [8, 12, 15, 16])
def test_shots_that_fill_a_part_of_the_range_are_ranked_alike(bits):
    """Such as those of a microscope, with 12 bits in files of 16."""
    net = BestNetwork(channels=(4, 4), num_blocks=(1, 1), hidden=(4,))
    shots = torch.stack(spoilt(scene(300, 260)))
    shots = shots / shots.max()
    scores = rank(shots, network=net, device="cpu")
    assert scores.std() > 0
    torch.testing.assert_close(rank(shots * 2.0 ** (bits - 16), network=net, device="cpu"), scores)
