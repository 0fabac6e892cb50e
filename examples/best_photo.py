"""The best photo of a burst: from a folder of photographs to a network that chooses.

A burst is a folder of four shots of one thing. All but one are blurred; noise and exposure differ
from shot to shot, and ``labels.csv`` names the sharp one. A network learns this from the folder,
and is compared with a classical measure, the variance of the Laplacian, which noise misleads. Run
``python examples/best_photo.py``; about forty seconds on one CPU core.
"""

import tempfile
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter, laplace
from skimage import data

from symsets.data import SetFolder
from symsets.models import network_for
from symsets.train import fit, predict

SIZE, SHOTS = 32, 4
WIDTH, LEARNING_RATE, EPOCHS = 8, 3e-3, 8
BURSTS = {"train": 1000, "val": 100, "test": 160}
PHOTOS = {  # different ones for each split
    "train": ("astronaut", "brick", "camera", "coffee", "grass", "immunohistochemistry", "page"),
    "val": ("coins",),
    "test": ("chelsea", "gravel"),
}
EXPECTED = "0.76 to 0.85"
Pixels = NDArray[np.float64]


def photographs(split: str) -> list[Pixels]:
    """Return grey photographs of scikit-image, with values from 0 to 1."""
    photos = [Image.fromarray(getattr(data, name)()).convert("L") for name in PHOTOS[split]]
    return [np.asarray(photo) / 255 for photo in photos]


def shot(scene: Pixels, random: np.random.Generator, *, sharp: bool) -> Pixels:
    """Photograph a scene: out of focus unless sharp, with noise, too dark or too bright."""
    blur = 0.0 if sharp else random.uniform(0.7, 2.0)
    noise, exposure = random.uniform(0.0, 0.08), random.uniform(0.6, 1.3)
    pixels = gaussian_filter(scene, blur) * exposure + random.normal(0, noise, scene.shape)
    return pixels.clip(0, 1)


def make_bursts(root: Path) -> None:
    """Write ``train``, ``val`` and ``test``: a folder for each burst, and ``labels.csv``."""
    random = np.random.default_rng(0)
    for split, num in BURSTS.items():
        photos, lines = photographs(split), ["set,file"]
        for k in range(num):
            photo = photos[k % len(photos)]
            top, left = (random.integers(side - SIZE + 1) for side in photo.shape)
            scene = photo[top : top + SIZE, left : left + SIZE]
            burst, best = root / split / f"burst-{k:03}", random.integers(SHOTS)
            burst.mkdir(parents=True)
            for j in range(SHOTS):
                pixels = shot(scene, random, sharp=j == best)
                Image.fromarray((255 * pixels).astype(np.uint8)).save(burst / f"shot-{j}.png")
            lines.append(f"burst-{k:03},shot-{best}.png")
        (root / split / "labels.csv").write_text("\n".join(lines))


def sharpest(burst: torch.Tensor) -> int:
    """Choose by the variance of the Laplacian."""
    return int(np.argmax([laplace(pixels).var() for pixels in burst[:, 0].numpy()]))


def main(epochs: int = EPOCHS) -> float:
    """Train on a folder of bursts, and return how often the best shot of a new one is chosen."""
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as root:
        make_bursts(Path(root))  # your own folder takes its place
        sets = SetFolder(root)
        print(sets)
        train, val, test = sets.split()  # folders say which burst is for what
        net = network_for(train, width=WIDTH)
        net = fit(net, train, val, epochs=epochs, learning_rate=LEARNING_RATE, workers=0)
        answers = predict(net, test, workers=0)
        best = [int(target) for _, target in test]
        classical = [sharpest(burst) == y for (burst, _), y in zip(test, best, strict=True)]
    right = [answer.chosen == y for answer, y in zip(answers, best, strict=True)]
    accuracy = sum(right) / len(right)
    first = answers[0]
    print(f"{first.name}: {dict(zip(first.elements, first.scores or (), strict=True))}")
    print(f"variance of the Laplacian {sum(classical) / len(classical):.3f}")
    print(f"test accuracy {accuracy:.3f} (expect {EXPECTED}; chance {1 / SHOTS:.3f})")
    return accuracy


if __name__ == "__main__":
    main()
