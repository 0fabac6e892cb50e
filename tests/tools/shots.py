"""Shots for tests, and a network that knows without training which one is sharp."""

import torch
from PIL import Image
from scipy.ndimage import gaussian_filter
from torch import nn

from symsets.models.sharpness import slopes


def scene(height, width, softness=3.0):
    """Return a smooth picture ``(3, H, W)`` with values in [0, 1]."""
    generator = torch.Generator().manual_seed(3)
    noise = torch.rand(3, height, width, generator=generator).numpy()
    soft = torch.as_tensor(gaussian_filter(noise, (0, softness, softness)))
    return (0.5 + 0.15 * (soft - soft.mean()) / soft.std()).clamp(0, 1)


def detailed(seed, height=150, width=200):
    """Return a picture ``(3, H, W)`` with detail of many sizes."""
    draw = torch.Generator().manual_seed(seed)
    picture = torch.zeros(1, 3, height, width)
    for side in (4, 8, 16, 32):
        coarse = torch.randn(1, 3, side, side, generator=draw)
        picture += nn.functional.interpolate(coarse, (height, width), mode="bicubic")
    return (0.5 + 0.08 * picture[0]).clamp(0, 1)


def write_shot(path, picture):
    """Write a picture ``(3, H, W)`` as others do, without a mark that it is ours."""
    values = (255 * picture).round().clamp(0, 255).byte().movedim(0, -1).numpy()
    Image.fromarray(values).save(path, quality=95)


def blurred(picture, width):
    return torch.as_tensor(gaussian_filter(picture.numpy(), (0, width, width)))


class Slopes(nn.Module):
    """Scores sharp shots high, and keeps what it is shown."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x):
        self.seen.append(x)
        return torch.stack([slopes(shots).clamp(min=1e-9).log10() for shots in x])
