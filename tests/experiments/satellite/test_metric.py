import math

import numpy as np
import pytest
import torch

from symsets.experiments.satellite.metric import (
    BORDER,
    best_window,
    cpsnr,
    cssim,
    shift_errors,
    shift_loss,
)


def pictures(num=2, side=24, masked=0.2):
    generator = torch.Generator().manual_seed(0)
    truth = torch.rand(num, side, side, generator=generator, dtype=torch.float64)
    clear = torch.rand(num, side, side, generator=generator) > masked
    output = truth + 0.05 * torch.randn(truth.shape, generator=generator, dtype=torch.float64)
    usual = torch.full_like(truth, 0.05)
    return output[:, None], torch.stack([truth, clear.double(), usual], dim=1)


def slow_cpsnr(output, truth, clear):
    """Follow the text of the challenge, one shift and one pixel after the other."""
    side = len(output) - 2 * BORDER
    found = []
    for u in range(7):
        for v in range(7):
            pairs = [
                (truth[u + i][v + j], output[BORDER + i][BORDER + j])
                for i in range(side)
                for j in range(side)
                if clear[u + i][v + j]
            ]
            bias = math.fsum(t - o for t, o in pairs) / len(pairs)
            error = math.fsum((t - (o + bias)) ** 2 for t, o in pairs) / len(pairs)
            found.append(-10 * math.log10(error))
    return max(found)


def test_cpsnr_agrees_with_a_slow_version():
    output, target = pictures()
    slow = [
        slow_cpsnr(o[0].tolist(), t[0].tolist(), t[1].bool().tolist())
        for o, t in zip(output, target, strict=True)
    ]
    assert np.abs(cpsnr(output, target).numpy() - slow).max() < 1e-9


def test_a_constant_changes_nothing():
    output, target = pictures()
    torch.testing.assert_close(cpsnr(output + 3, target), cpsnr(output, target))
    torch.testing.assert_close(cssim(output + 3, target), cssim(output, target))
    torch.testing.assert_close(shift_loss(output + 3, target), shift_loss(output, target))


@pytest.mark.parametrize("shift", [(0, 0), (3, -3), (-2, 1), (-3, -3)])
def test_shifts_of_up_to_three_pixels_change_nothing(shift):
    output, target = pictures(side=30, masked=0.0)
    inner = slice(2 * BORDER, -2 * BORDER)
    # Only what all shifts leave inside is wrong, so that no shift brings errors in or out.
    error = torch.zeros_like(output)
    error[..., inner, inner] = (output - target[:, :1])[..., inner, inner]
    moved = (target[:, :1] + error).roll(shift, (-2, -1))
    expected = cpsnr(target[:, :1] + error, target)
    torch.testing.assert_close(cpsnr(moved, target), expected)
    best = shift_errors(moved, target).argmin(1)
    assert best.tolist() == [7 * (BORDER - shift[0]) + BORDER - shift[1]] * 2


def test_what_is_not_clear_is_ignored():
    output, target = pictures()
    hidden = target[:, 1] == 0
    spoilt = target.clone()
    spoilt[:, 0][hidden] = torch.nan
    assert torch.equal(cpsnr(output, spoilt), cpsnr(output, target))
    assert torch.equal(cssim(output, spoilt), cssim(output, target))
    assert torch.equal(shift_loss(output, spoilt), shift_loss(output, target))


def test_nan_in_the_output_is_ignored_where_nothing_is_clear():
    output, target = pictures()
    target[:, 1, 8:20, 8:20] = 0  # whatever the shift, the middle is hidden
    spoilt = output.clone()
    spoilt[..., 12:16, 12:16] = torch.nan
    assert torch.equal(cpsnr(spoilt, target), cpsnr(output, target))


def test_the_gradient_of_the_loss_is_finite_and_only_where_it_is_clear():
    output, target = pictures()
    target[:, 0][target[:, 1] == 0] = torch.nan
    output.requires_grad_()
    shift_loss(output, target).backward()
    assert output.grad.isfinite().all()
    _, _, clear = best_window(output, target)
    inside = output.grad[:, 0, BORDER:-BORDER, BORDER:-BORDER]
    assert (inside[~clear] == 0).all()
    assert (inside[clear] != 0).any()
    assert output.grad[..., :BORDER, :].abs().max() == 0


def test_a_perfect_picture_has_a_loss_of_nearly_nothing():
    _, target = pictures()
    output = target[:, :1].clone().requires_grad_()
    loss = shift_loss(output, target)
    loss.backward()
    assert loss < 1e-3
    assert output.grad.isfinite().all()


def test_the_loss_counts_in_units_of_each_scene():
    output, target = pictures()
    large = target.clone()
    large[:, 2] *= 2
    torch.testing.assert_close(
        shift_loss(output, large), shift_loss(output, target) / 2, rtol=1e-3, atol=0
    )


def test_cssim_agrees_with_scikit_image_without_masks():
    metrics = pytest.importorskip("skimage.metrics")
    output, target = pictures(num=1, side=32, masked=0.0)
    inner = output[0, 0, BORDER:-BORDER, BORDER:-BORDER].numpy()
    found = []
    for u in range(7):
        for v in range(7):
            window = target[0, 0, u : u + 26, v : v + 26].numpy()
            moved = inner + (window - inner).mean()
            _, places = metrics.structural_similarity(
                moved, window, gaussian_weights=True, sigma=1.5, data_range=1.0,
                use_sample_covariance=False, full=True, truncate=3.5,
            )  # fmt: skip
            found.append(places[5:-5, 5:-5].mean())
    assert abs(cssim(output, target).item() - max(found)) < 1e-6


def test_pictures_of_other_sizes_are_named():
    output, target = pictures()
    with pytest.raises(
        ValueError, match=r"output must be as large as the truth, .* got \(20, 24\)"
    ):
        cpsnr(output[..., :20, :], target)
