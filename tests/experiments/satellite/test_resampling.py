import torch

from symsets.experiments.satellite.resampling import enlarge, is_clear


def waves(rows, columns):
    """Return a smooth place at any coordinates, which need not be whole numbers."""
    generator = torch.Generator().manual_seed(0)
    total = torch.zeros(torch.broadcast_shapes(rows.shape, columns.shape), dtype=torch.float64)
    for _ in range(60):
        a, b, phase = torch.rand(3, generator=generator, dtype=torch.float64)
        total = total + torch.cos(1.2 * (a - 0.5) * rows + 1.2 * (b - 0.5) * columns + 6.3 * phase)
    return total


def seen_from(shifts, side=48):
    """Return pictures that show at ``p + shift`` what the place has at ``p``."""
    place = torch.arange(side, dtype=torch.float64)
    rows = place[:, None] - shifts[:, 0, None, None]
    columns = place[None, :] - shifts[:, 1, None, None]
    return waves(rows, columns)


def test_registered_pictures_show_the_same():
    torch.manual_seed(0)
    shifts = 2 * torch.rand(5, 2, dtype=torch.float64) - 1
    pictures = seen_from(shifts)
    middle = (slice(None), slice(4, -4), slice(4, -4))
    place = seen_from(torch.zeros_like(shifts))
    before = (pictures - place)[middle].abs().mean()
    after = (enlarge(pictures, shifts) - place)[middle].abs().mean()
    assert after < 0.02 * before


def test_the_fine_grid_has_nine_pixels_for_one():
    place = torch.arange(24, dtype=torch.float64)
    fine = (torch.arange(72, dtype=torch.float64) + 0.5) / 3 - 0.5
    picture = waves(place[:, None], place[None])[None]
    found = enlarge(picture, torch.zeros(1, 2, dtype=torch.float64), 3)
    wanted = waves(fine[:, None], fine[None])
    assert found.shape == (1, 72, 72)
    assert (found[0] - wanted)[9:-9, 9:-9].abs().max() < 0.02 * wanted.abs().max()


def test_without_shift_and_scale_nothing_changes():
    x = torch.rand(3, 7, 9, dtype=torch.float64)
    assert torch.allclose(enlarge(x, torch.zeros(3, 2, dtype=torch.float64)), x)
    one = enlarge(x, torch.tensor([[1.0, -2.0]], dtype=torch.float64).expand(3, 2))
    assert torch.allclose(one[:, :-1, 2:], x[:, 1:, :-2])


def test_weights_are_the_same_in_every_call():
    x, shifts = torch.rand(5, 20, 20), 4 * torch.rand(5, 2) - 2
    assert torch.equal(enlarge(x, shifts, 3), enlarge(x, shifts, 3))
    assert torch.allclose(enlarge(torch.ones(5, 20, 20), shifts, 3), torch.ones(5, 60, 60))


def test_nothing_of_a_cloud_is_in_what_counts_as_clear():
    torch.manual_seed(0)
    clear = torch.rand(20, 24, 24) > 0.1
    shifts = 3 * torch.rand(20, 2) - 1.5
    place = torch.rand(20, 24, 24)
    before = enlarge(place, shifts)
    after = enlarge(torch.where(clear, place, place + 1), shifts)
    seen = is_clear(clear, shifts)
    assert 0.1 < seen.float().mean() < 0.6
    assert (after - before)[seen].abs().max() < 0.011
    by_mask = (enlarge(clear.float(), shifts) - 1).abs() < 0.01
    assert not (seen & ~by_mask).any()


def test_beyond_the_border_nothing_is_clear():
    clear = torch.ones(1, 6, 6, dtype=torch.bool)
    assert is_clear(clear, torch.tensor([[0.4, -0.5]])).all()
    seen = is_clear(clear, torch.tensor([[1.6, -0.7]]))[0]
    assert seen[:4, 1:].all()
    assert not seen[4:].any()
    assert not seen[:, 0].any()
