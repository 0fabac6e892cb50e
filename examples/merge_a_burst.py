"""Shots in, picture out: five noisy shots of one scene become one clean picture.

A photograph is shot five times by a camera that moves: every shot is shifted, turned and has noise.
``symsets.merge`` lays the shots over each other and merges them with the network that comes with
the package. Run ``python examples/merge_a_burst.py``; some seconds on two CPU cores. The shots and
a picture that compares them are in ``runs/demo-burst``, so that the command can be tried on them:
``symsets merge runs/demo-burst/shot*.png -o merged.png``.
"""

import math
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from PIL import Image
from skimage import data
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

import symsets
from symsets.train import psnr, ssim

SHOTS, NOISE, SHIFT, TURN = 5, 25, 8, 1.0  # noise of 255, pixels, degrees
SPARE = 24  # px around the scene, where the moved camera looks
OUT = Path("runs/demo-burst")
EXPECTED = "about 34.8"


def shoot(photo: Tensor, num: int) -> Tensor:
    """Return shots ``(N, 3, H, W)`` of a photograph with bytes; the first one is not moved."""
    height, width = photo.shape[1:]
    turns = math.radians(TURN) * (2 * torch.rand(num) - 1)
    shifts = SHIFT * (2 * torch.rand(num, 2) - 1)
    turns[0], shifts[0] = 0, 0
    cos, sin, ratio = turns.cos(), turns.sin(), height / width
    maps = torch.stack([cos, -sin * ratio, sin / ratio, cos], dim=1).view(num, 2, 2)
    maps = torch.cat([maps, (2 * shifts / torch.tensor([width, height]))[:, :, None]], dim=2)
    places = affine_grid(maps, [num, 3, height, width], align_corners=False)
    seen = grid_sample(photo.expand(num, -1, -1, -1), places, "bicubic", align_corners=False)
    noisy = seen + NOISE * torch.randn(seen.shape)
    return noisy[..., SPARE:-SPARE, SPARE:-SPARE].round().clamp(0, 255) / 255


def show(pictures: dict[str, Tensor], file: Path) -> None:
    """Draw pictures side by side, and a part of each, enlarged."""
    figure, axes = plt.subplots(2, len(pictures), figsize=(3.2 * len(pictures), 4.4))
    for column, (title, picture) in zip(axes.T, pictures.items(), strict=True):
        pixels = picture.permute(1, 2, 0).numpy()
        column[0].imshow(pixels)
        column[0].set_title(title)
        column[1].imshow(pixels[60:160, 110:260])
        for axis in column:
            axis.axis("off")
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    plt.close(figure)


def main(num_shots: int = SHOTS) -> float:
    """Make a burst, merge it, and return how alike the result and the scene are (SSIM)."""
    torch.manual_seed(0)
    photo = torch.from_numpy(data.chelsea().copy()).permute(2, 0, 1).float()
    scene = photo[:, SPARE:-SPARE, SPARE:-SPARE] / 255
    shots = shoot(photo, num_shots)
    OUT.mkdir(parents=True, exist_ok=True)
    for number, shot in enumerate(shots):
        pixels = (255 * shot).round().byte().permute(1, 2, 0).numpy()
        Image.fromarray(pixels).save(OUT / f"shot{number}.png")
    merged = symsets.merge(shots, reference=0)
    rows = {"one shot": shots[0], f"mean of {num_shots}": shots.mean(0), "symsets merge": merged}
    for name, picture in rows.items():
        print(f"{name:14} {float(psnr(1.0)(picture[None], scene[None])):6.2f} dB")
    print(f"(PSNR of the last one: expect {EXPECTED}; pictures in {OUT}/compare.png)")
    show({**rows, "the scene": scene}, OUT / "compare.png")
    return float(ssim(1.0)(merged[None], scene[None]))


if __name__ == "__main__":
    main()
