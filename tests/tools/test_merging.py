"""Merging in memory: tiles, references, brightness, and what is refused."""

import subprocess
import sys

import pytest
import torch
from torch import nn

import symsets
from symsets.models import MergeNetwork
from symsets.tools.merging import (
    OVERLAP,
    DifferentScenesError,
    colours_share_noise,
    find_maps,
    merge,
    sharpest,
)


class Mean(nn.Module):
    """The mean of all shots, which shows what a network is given."""

    def forward(self, x):
        return x[:, :, :3].mean(1)


class Reference(nn.Module):
    """The reference alone."""

    def forward(self, x):
        return (x[:, :, :3] * x[:, :, 3:]).sum(1)


def small():
    torch.manual_seed(0)
    net = MergeNetwork(channels=4, num_blocks=1, merged_channels=(4,), merged_blocks=(1,))
    for parameter in net.parameters():
        if not parameter.any():
            nn.init.normal_(parameter, std=0.1)
    return net


def scene(height=120, width=150, channels=3):
    coarse = torch.rand(1, channels, height // 6, width // 6)
    return nn.functional.interpolate(coarse, (height, width), mode="bicubic").clamp(0, 1)[0]


def burst(num=4, height=100, width=120, noise=0.0, channels=3):
    """Return shots that are shifted by whole pixels, the first by none."""
    whole = scene(height + 16, width + 16, channels)
    places = [(0, 0), (5, 3), (16, 0), (2, 14), (9, 9), (1, 1)]
    shots = torch.stack([whole[:, t : t + height, x : x + width] for t, x in places[:num]])
    return (shots + noise * torch.randn_like(shots)).clamp(0, 1)


def psnr(x, y):
    return -10 * (x - y).square().mean().log10()


def test_shots_are_aligned_before_they_are_merged():
    shots = burst()
    clean = shots[0]
    noisy = (shots + 0.08 * torch.randn_like(shots)).clamp(0, 1)
    merged = merge(noisy, reference=0, network=Mean())
    assert psnr(merged, clean) > psnr(noisy.mean(0), clean) + 3
    assert psnr(merged, clean) > psnr(noisy[0], clean) + 2


def test_what_no_other_shot_shows_is_taken_from_the_reference():
    shots = burst()
    corner = merge(shots, reference=2, network=Mean())[:, -12:, :40]  # above the others' end
    assert (corner - shots[2][:, -12:, :40]).abs().mean() < 0.01


@pytest.mark.parametrize("size", [(100, 120), (193, 401), (400, 193)])
def test_tiles_make_the_same_picture_as_the_whole(size):
    net, shots = small(), burst(2, *size)
    whole = merge(shots, reference=0, network=net, tile=1000)
    tiles = merge(shots, reference=0, network=net, tile=4 * OVERLAP)
    assert (whole - shots[0]).abs().mean() > 1e-3  # the network does something
    # At the borders of tiles, where they fade out, convolutions see zeros instead of the picture.
    torch.testing.assert_close(tiles, whole, atol=0.1, rtol=0)
    assert (tiles - whole).abs().mean() < 2e-3


def test_tiles_of_what_looks_at_single_pixels_leave_no_seam():
    shots = burst(3, 200, 400)
    whole = merge(shots, reference=1, network=Mean(), tile=1000)
    tiles = merge(shots, reference=1, network=Mean(), tile=1)
    torch.testing.assert_close(tiles, whole, atol=1e-5, rtol=0)


def test_a_network_gets_no_more_than_a_tile():
    seen = []

    class Watched(Mean):
        def forward(self, x):
            seen.append(x.shape[-2:])
            return super().forward(x)

    steps = []
    merge(
        torch.rand(1, 3, 500, 350),
        network=Watched(),
        tile=200,
        watch=lambda done, of: steps.append((done, of)),
    )
    assert max(max(size) for size in seen) <= 200
    assert steps == [(k + 1, len(seen)) for k in range(len(seen))]
    assert sum(h * w for h, w in seen) < 2 * 500 * 350


def test_eight_turns_commute_with_turns():
    net, shots = small(), burst(3, 48, 60)
    still = find_maps(shots, 0, aligned=True)
    found = merge(shots, reference=0, maps=still, network=net, turns=True)
    assert not torch.equal(found, merge(shots, reference=0, maps=still, network=net))
    for moved in (lambda x: x.mT, lambda x: x.flip(-2), lambda x: x.mT.flip(-1)):
        turned = merge(moved(shots), reference=0, maps=still, network=net, turns=True)
        torch.testing.assert_close(turned, moved(found), atol=1e-5, rtol=0)


def test_one_shot_is_enough():
    shot = scene()
    assert merge([shot], network=small()).shape == shot.shape
    torch.testing.assert_close(merge([shot], network=Reference()), shot)


def test_grey_shots_make_a_grey_picture():
    shots = burst(channels=1)
    merged = merge(shots, reference=3, network=Reference())
    torch.testing.assert_close(merged, shots[3], atol=1e-5, rtol=0)


def test_the_order_of_the_other_shots_does_not_matter():
    shots, net = burst(noise=0.05), small()
    first = merge(shots, reference=0, network=net)
    other = merge(shots[[2, 0, 3, 1]], reference=1, network=net)
    torch.testing.assert_close(first, other, atol=1e-4, rtol=0)


def test_the_sharpest_shot_is_the_reference():
    shots = burst(4, noise=0.02)
    soft = nn.functional.avg_pool2d(shots, 5, 1, 2, count_include_pad=False)
    for k in range(4):
        mixed = soft.clone()
        mixed[k] = shots[k]
        assert sharpest(mixed) == k
        assert torch.equal(
            merge(mixed, network=Reference()), merge(mixed, reference=k, network=Reference())
        )


def test_brighter_shots_are_not_sharper():
    shots = 0.6 * burst(3)
    shots[1] = nn.functional.avg_pool2d(shots[1], 3, 1, 1, count_include_pad=False) * 1.6
    assert sharpest(shots) != 1


def test_maps_of_other_programs_can_be_given():
    shots = 0.4 + 0.2 * burst(1).repeat(4, 1, 1, 1)
    shots += 0.01 * torch.randn_like(shots)
    still = torch.eye(2, 3).repeat(4, 1, 1)
    merged = merge(shots, reference=0, maps=still, network=Mean())
    torch.testing.assert_close(merged, shots.mean(0), atol=2e-3, rtol=0)
    moving = still.clone()
    moving[1, 0, 2] = 2 / 120  # by a column
    merged = merge(shots, reference=0, maps=moving, network=Mean())
    shots[1] = shots[1].roll(-1, -1)
    torch.testing.assert_close(merged[..., :-2], shots.mean(0)[..., :-2], atol=2e-3, rtol=0)
    assert torch.equal(find_maps(shots, 0, aligned=True), still)


def test_the_network_is_left_as_it_was():
    net = small().train()
    merge(burst(2), network=net)
    assert net.training
    with pytest.raises(RuntimeError, match="stop"):
        merge(burst(2), network=net, watch=stop)
    assert net.training


def stop(done, of):
    raise RuntimeError("stop")


def test_other_scenes_are_named():
    shots = burst(3)
    shots[1] = scene(100, 120)
    with pytest.raises(DifferentScenesError, match="but shot 1 has nothing in common with shot 0"):
        merge(shots, reference=0, network=Mean())


def test_shots_without_detail_are_merged():
    shots = torch.full((3, 3, 40, 40), 0.4) + 0.01 * torch.randn(3, 3, 40, 40)
    assert merge(shots, network=Mean()).std() < 0.01


PICTURE = torch.zeros(3, 20, 20)
BAD = {
    "none": ({"shots": []}, "shots must be pictures .* at least one, got"),
    "no pictures": ({"shots": [torch.zeros(20, 20)]}, "shot 0 must be a picture"),
    "a number": ({"shots": 3}, "shots must be pictures"),
    "sizes": ({"shots": [PICTURE, torch.zeros(3, 20, 21)]}, r"one size, got \(3, 20, 21\) for sho"),
    "channels": ({"shots": torch.zeros(1, 2, 20, 20)}, "one or three channels"),
    "small": ({"shots": torch.zeros(1, 3, 20, 15)}, "16 pixels or more on each side"),
    "bytes": ({"shots": [PICTURE.byte()]}, r"values in \[0, 1\], as in x / 255, got torch.uint8"),
    "levels": (
        {"shots": [PICTURE + 200]},
        r"values in \[0, 1\], as in x / 255, got .* from 200 to 200",
    ),
    "nan": ({"shots": [PICTURE * torch.nan]}, r"values in \[0, 1\]"),
    "reference": (
        {"shots": [PICTURE], "reference": 1},
        "reference must be one of \\['auto', 0\\], got",
    ),
    "word": (
        {"shots": [PICTURE], "reference": "last"},
        "reference must be one of \\['auto', 0\\], got",
    ),
    "maps": ({"shots": [PICTURE], "maps": torch.eye(3)}, r"maps must be a tensor \(1, 2, 3\)"),
    "network": ({"shots": [PICTURE], "network": 3}, "network must be a network, got int"),
    "tile": ({"shots": [PICTURE], "tile": 0}, "tile must be at least 1, got 0"),
    "device": ({"shots": [PICTURE], "device": "abacus"}, "device must be"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_arguments_are_named(name):
    given, message = BAD[name]
    with pytest.raises((ValueError, TypeError), match=message):
        merge(**{"network": Mean(), **given})


def test_a_network_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("symsets.saving.PRETRAINED", tmp_path)
    with pytest.raises(FileNotFoundError, match="has no trained network 'merge'; python training/"):
        merge([PICTURE])


def test_it_is_found_at_the_top_and_imported_when_asked_for():
    assert symsets.merge is merge
    words = "import sys, symsets; print('symsets.tools' in sys.modules, 'merge' in symsets.__all__)"
    found = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, text=True, check=True
    )
    assert found.stdout == "False True\n"
    with pytest.raises(AttributeError, match="module 'symsets' has no attribute 'merje'"):
        symsets.merje


def shot_as(kind, level=0.06, num=5):
    """Return noisy shots of one scene, and the scene; the noise of grey shots is that of one."""
    clean = burst(num, 96, 96)[:1].expand(num, -1, -1, -1)
    if kind == "grey":
        clean = clean.mean(1, keepdim=True)
    shots = clean + level * torch.randn_like(clean)
    if kind == "alike":
        shots = clean + level * torch.randn_like(clean[:, :1])
    return shots.clamp(0, 1), clean[0]


def still(num):
    return torch.eye(2, 3).repeat(num, 1, 1)


@pytest.mark.parametrize(("kind", "expected"), [("colour", False), ("alike", True)])
def test_noise_that_colours_share_is_found(kind, expected):
    shots, _ = shot_as(kind)
    assert colours_share_noise(shots, still(5), 0) is expected
    assert not colours_share_noise(shots[:1], still(1), 0)


@pytest.mark.parametrize("kind", ["colour", "alike"])
def test_clean_black_and_single_shots_have_no_noise_to_share(kind):
    shots, _ = shot_as(kind, level=1e-3)
    assert not colours_share_noise(shots, still(5), 0)
    assert not colours_share_noise(torch.zeros_like(shots), still(5), 0)


def test_moving_edges_are_no_noise():
    shots = burst(5, 96, 96, noise=0.03)
    assert not colours_share_noise(shots, still(5), 0)  # not laid over each other


@pytest.mark.parametrize("kind", ["colour", "alike", "grey"])
def test_the_network_of_the_package_removes_noise_that_colours_share(kind):
    shots, clean = shot_as(kind)
    merged = merge(shots, reference=0)
    assert merged.shape == clean.shape
    assert psnr(merged, clean) > psnr(shots.mean(0), clean) + 1


def given(shots, maps=None, reference=0):
    """Return the shots that a network gets, in the range of those that were given."""
    seen = []

    class Watched(Mean):
        def forward(self, x):
            seen.append(x[0, :, :3])
            return super().forward(x)

    merge(shots, reference=reference, network=Watched(), maps=maps)
    return seen[0] * shots.max()


def test_colours_of_shots_become_those_of_the_reference():
    shots = 0.2 + 0.5 * burst()
    balance = torch.tensor([0.8, 1.0, 1.25]).view(3, 1, 1)
    tinted = torch.stack([shots[0], *(balance * shot for shot in shots[1:])])
    maps = find_maps(shots, 0)
    found = given(tinted, maps)
    torch.testing.assert_close(found, given(shots, maps), atol=0.01, rtol=0)
    assert (tinted - shots).abs().max() > 0.1


@pytest.mark.parametrize("times", [0.25, 0.5, 2.0, 4.0])
def test_shots_that_were_exposed_much_longer_or_shorter_become_as_bright(times):
    shots = 0.05 + 0.9 * burst()
    maps = find_maps(shots, 0)
    exposed = torch.cat([shots[:1], (times * shots[1:]).clamp(max=1)])
    torch.testing.assert_close(given(exposed, maps), given(shots, maps), atol=0.03, rtol=0)


def test_exposures_that_the_network_learned_to_even_out_are_left_to_it():
    shots = 0.1 + 0.6 * burst()[:1].expand(4, -1, -1, -1)
    exposed = torch.cat([shots[:1], 1.25 * shots[1:2], 0.8 * shots[2:]])
    still = find_maps(shots, 0, aligned=True)
    torch.testing.assert_close(given(exposed, still), exposed, atol=1e-4, rtol=0)


def test_the_reference_is_about_as_bright_as_most():
    shots = burst(5)
    noisy = shots + 0.06 * torch.randn_like(shots)
    assert sharpest(torch.cat([0.1 * shots[:1] + 0.06 * torch.randn(1, 3, 100, 120), noisy])) > 0


@pytest.mark.parametrize("channels", [1, 3])
def test_pictures_that_fill_a_part_of_the_range_are_merged_as_well(channels):
    """Such as those of a microscope, with 12 bits in files of 16."""
    shots, net = burst(noise=0.05, channels=channels), small()
    shots = shots / shots.max()
    whole = merge(shots, reference=0, network=net)
    torch.testing.assert_close(merge(shots / 16, reference=0, network=net), whole / 16)
    assert merge(torch.zeros_like(shots), reference=0, network=net).isfinite().all()


@pytest.mark.parametrize("tile", [1, 1000])
def test_what_moves_is_taken_from_the_reference(tile):
    shots = burst(4, 200, 240)
    for k, shot in enumerate(shots):
        shot[:, 80:110, 30 + 40 * k : 60 + 40 * k] = torch.tensor([0.9, 0.1, 0.5]).view(3, 1, 1)
    merged = merge(shots, reference=0, network=Mean(), tile=tile)
    assert (merged - shots[0]).abs()[:, 75:115].mean() < 0.01
