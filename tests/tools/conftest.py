"""Small folders of sets of every kind of task."""

import csv

import numpy as np
import pytest
from PIL import Image


def write_labels(root, header, rows):
    with (root / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


@pytest.fixture
def vectors(tmp_path):
    """Sets of vectors; the class says whether their mean is positive."""
    root, random, rows = tmp_path / "vectors", np.random.default_rng(0), []
    root.mkdir()
    for k in range(60):
        x = random.normal(size=(random.integers(2, 6), 3)) + (2 if k % 2 else -2)
        np.save(root / f"set{k:02d}.npy", x.astype(np.float32))
        rows.append([f"set{k:02d}", "high" if k % 2 else "low"])
    write_labels(root, ["set", "label"], rows)
    return root


@pytest.fixture
def photos(tmp_path):
    """Sets of grey pictures; the brightest is the best."""
    root, random, rows = tmp_path / "photos", np.random.default_rng(0), []
    for k in range(24):
        folder = root / f"set{k:02d}"
        folder.mkdir(parents=True)
        levels = random.permutation([40, 120, 200])
        for i, level in enumerate(levels):
            picture = random.normal(level, 10, size=(12, 12)).clip(0, 255).astype(np.uint8)
            Image.fromarray(picture).save(folder / f"{i}.png")
        rows.append([f"set{k:02d}", f"{levels.argmax()}.png"])
    write_labels(root, ["set", "file"], rows)
    return root


@pytest.fixture
def shots(tmp_path):
    """Sets of noisy pictures with the clean one."""
    root, random = tmp_path / "shots", np.random.default_rng(0)
    for k in range(12):
        folder = root / f"set{k:02d}"
        folder.mkdir(parents=True)
        clean = np.kron(random.integers(0, 255, (4, 4)), np.ones((3, 3)))
        for i in range(3):
            noisy = (clean + random.normal(0, 30, clean.shape)).clip(0, 255).astype(np.uint8)
            Image.fromarray(noisy).save(folder / f"{i}.png")
        Image.fromarray(clean.astype(np.uint8)).save(folder / "target.png")
    return root


@pytest.fixture
def numbers(tmp_path):
    """A table of sets, with a number for each of them: ten times the sum of the first column."""
    path, random = tmp_path / "numbers.csv", np.random.default_rng(0)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["set", "a", "b", "label"])
        for k in range(40):
            x = random.normal(size=(random.integers(1, 5), 2)).round(3)
            for row in x:
                writer.writerow([f"set{k}", *row, round(10 * x[:, 0].sum() + 0.5, 2)])
    return path
