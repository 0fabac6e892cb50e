import torch

from symsets.experiments.synthetic import leaves as _leaves
from symsets.experiments.synthetic.dead_leaves import DeadLeaves


def spectral_slope(pictures):
    """Fit log power against log frequency, averaged over pictures and directions."""
    grey = pictures.double().mean(1)
    grey = grey - grey.mean((1, 2), keepdim=True)
    size = grey.shape[-1]
    window = torch.hann_window(size, dtype=torch.float64)
    power = torch.fft.fft2(grey * window * window[:, None]).abs().square().mean(0)
    f = torch.fft.fftfreq(size) * size
    ring = torch.hypot(f[:, None], f).round()
    rings = torch.arange(3, size * 3 // 8)
    profile = torch.stack([power[ring == k].mean() for k in rings]).log()
    log_f = rings.double().log()
    log_f = log_f - log_f.mean()
    return float((log_f * profile).sum() / log_f.square().sum())


def test_leaves_have_the_spectrum_of_photographs():
    # power 1 / f², steeper by smooth shading and anti-aliasing, as in photographs of this size
    assert -3.0 < spectral_slope(DeadLeaves(64).images("train", 48)) < -1.8
    noise = torch.randint(256, (20, 3, 64, 64), dtype=torch.uint8)
    assert abs(spectral_slope(noise)) < 0.3  # the fit itself can tell


def test_leaves_have_no_scale_of_their_own():
    radius = _leaves.fall(200, 900, torch.Generator().manual_seed(0)).radius[:, :-1]
    radius = radius[radius > 8 * _leaves.SMALLEST]  # there all pictures have leaves
    # a leaf hits the picture if its centre lies in a square of side 1 + 2 r
    weight = (1 + 2 * radius) ** -2
    low, high = (weight[(radius > a) & (radius <= 1.5 * a)].sum() for a in (0.13, 0.2))
    ratio = torch.log(high / low) / torch.log(torch.tensor(0.2 / 0.13))
    assert abs(ratio + 2) < 0.4  # density r⁻³, so their number in a factor of 1.5 falls as r⁻²


def test_front_leaves_hide_those_behind():
    leaves = _leaves.fall(3, 60, torch.Generator().manual_seed(0))
    front = _leaves.seen(leaves, 24)
    place = (torch.arange(24) + 0.5) / 24
    every = _leaves.Leaf(*(part[:, :, None, None] for part in leaves))  # (B, K, 1, 1)
    inside = every.level(*every.local(place[:, None], place)) < 1  # (B, K, 24, 24)
    inside[:, -1] = True  # the ground has no end
    assert torch.equal(front, inside.int().argmax(1))
