"""How good an enlarged picture is: cPSNR and cSSIM of the PROBA-V challenge, and their loss.

Truth and prediction may lie a few pixels apart and differ in brightness, so both are measured at
the best of all 49 shifts, over the clear pixels, after the mean difference is removed.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

BORDER = 3  # px by which pictures may be apart, in each direction
SHIFTS = 2 * BORDER + 1
FLOOR = 1e-12  # of squared errors: 120 dB
EPSILON = 1e-6  # keeps the slope of a square root finite
WINDOW, SIGMA = 11, 1.5  # of structural similarity


def shift_errors(output: Tensor, target: Tensor) -> Tensor:
    """Return the mean squared error at all 49 shifts, over clear pixels, without its bias.

    Args:
        output: ``(B, 1, H, W)``; its border of three pixels is not looked at.
        target: ``(B, C, H, W)`` with the truth and, as a second channel, where it is clear (1).

    Shape:
        - result: ``(B, 49)``.
    """
    error, num = _unbiased(*_windows(output, target))
    return (error.square().sum((-2, -1)) / num).flatten(1)


def cpsnr(output: Tensor, target: Tensor) -> Tensor:
    r"""Return the clear peak signal-to-noise ratio of each picture in decibels, ``(B,)``.

    .. math:: \max_{u, v} -10 \log_{10} \operatorname{mean}_{clear}
        (y_{u,v} - (\hat y + b_{u,v}))^2

    It is unchanged by a constant added to the output, by shifts of up to three pixels (but for
    what they move over the border), and by whatever stands where the truth is not clear.

    Args:
        output: ``(B, 1, H, W)``, values of 16 bits divided by 65,535.
        target: As in :func:`shift_errors`.

    Example:
        >>> truth = torch.rand(1, 1, 32, 32)
        >>> target = torch.cat([truth, torch.ones_like(truth)], dim=1)
        >>> noisy = truth + 0.01 * torch.randn_like(truth)
        >>> bool((cpsnr(noisy, target) - 40).abs() < 1)
        True
    """
    return -10 * torch.log10(shift_errors(output, target).amin(1).clamp(min=FLOOR))


def best_window(output: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the output without its border, and truth and mask at the best shift.

    All are ``(B, h, w)``. The shift is chosen without gradients, as that of a minimum.
    """
    with torch.no_grad():
        best = shift_errors(output, target).argmin(1)
    inner, truth, clear = _windows(output, target)
    rows = torch.arange(len(best), device=best.device)
    pick = rows, best // SHIFTS, best % SHIFTS
    return inner[:, 0, 0], truth[pick], clear[pick]


def shift_loss(output: Tensor, target: Tensor) -> Tensor:
    """Return the error at the best shift: the mean of its absolute and its root-mean-square value.

    Every scene is divided by its own error before training, so ratios count, as in decibels: else
    a few bright scenes would be all that is learnt. Squares themselves are left out, since scenes
    that changed between the pictures would then make gradients that are longer than all others
    together.

    Args:
        output: ``(B, 1, H, W)``.
        target: ``(B, 3, H, W)``: truth, where it is clear, and the scene's usual error.
    """
    error, num = _unbiased(*best_window(output, target))
    error = error / target[:, 2, :1, :1]
    absolute, square = error.abs().sum((-2, -1)) / num, error.square().sum((-2, -1)) / num
    return (absolute + (square + EPSILON).sqrt()).mean() / 2


def _unbiased(inner: Tensor, truth: Tensor, clear: Tensor) -> tuple[Tensor, Tensor]:
    """Return the error of clear pixels without its mean, zero elsewhere, and their number."""
    num = clear.sum((-2, -1)).clamp(min=1)
    # Not a product with the mask: what is not clear may be NaN.
    difference = torch.where(clear, truth - inner, 0)
    bias = difference.sum((-2, -1)) / num
    return torch.where(clear, difference - bias[..., None, None], 0), num


def cssim(output: Tensor, target: Tensor) -> Tensor:
    """Return the structural similarity of each picture at its best shift, ``(B,)``.

    As RAMS defines it: what is not clear is set to zero in both pictures, after the bias has been
    removed; values span [0, 1].
    """
    inner, truth, clear = _windows(output, target)
    num = clear.sum((-2, -1)).clamp(min=1)
    bias = torch.where(clear, truth - inner, 0).sum((-2, -1)) / num
    best = inner.new_full((len(output),), -1.0)
    for u in range(SHIFTS):
        for v in range(SHIFTS):
            seen = clear[:, u, v]
            x = torch.where(seen, inner[:, 0, 0] + bias[:, u, v, None, None], 0)
            y = torch.where(seen, truth[:, u, v], 0)
            best = torch.maximum(best, _ssim(x, y))
    return best


def _windows(output: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the inner output ``(B, 1, 1, h, w)``, and truth and mask ``(B, 7, 7, h, w)``."""
    if output.shape[-2:] != target.shape[-2:] or min(output.shape[-2:]) <= 2 * BORDER:
        raise ValueError(
            f"output must be as large as the truth, and larger than {2 * BORDER} pixels, "
            f"got {tuple(output.shape[-2:])} and {tuple(target.shape[-2:])}"
        )
    h, w = (side - 2 * BORDER for side in output.shape[-2:])
    inner = output[:, 0, None, None, BORDER:-BORDER, BORDER:-BORDER]
    truth, clear = (target[:, c].unfold(1, h, 1).unfold(2, w, 1) for c in (0, 1))  # (B, 7, 7, h, w)
    return inner, truth, clear > 0


def _ssim(x: Tensor, y: Tensor) -> Tensor:
    """Return the mean structural similarity of pictures ``(B, h, w)`` with values in [0, 1]."""
    place = torch.arange(WINDOW, device=x.device, dtype=x.dtype) - WINDOW // 2
    weights = torch.exp(-0.5 * (place / SIGMA).square())
    weights = weights / weights.sum()
    parts = torch.stack([x, y, x * x, y * y, x * y], dim=1).flatten(0, 1)[:, None]
    parts = F.conv2d(F.conv2d(parts, weights[None, None, None]), weights[None, None, :, None])
    mx, my, xx, yy, xy = parts.unflatten(0, (len(x), 5)).squeeze(2).unbind(1)
    c1, c2 = 0.01**2, 0.03**2
    light = (2 * mx * my + c1) / (mx * mx + my * my + c1)
    detail = (2 * (xy - mx * my) + c2) / (xx - mx * mx + yy - my * my + c2)
    return (light * detail).flatten(1).mean(1)
