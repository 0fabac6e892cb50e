"""A folder of scenes in the layout of the challenge, small, and with a known defect if wanted."""

import shutil

import numpy as np
import pytest

from symsets.experiments.satellite.generated import GeneratedScenes

SIDE = 16
FULL = 65_535


def write(path, values):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    path.parent.mkdir(parents=True, exist_ok=True)
    image.fromarray(values).save(path)


def write_scene(folder, scenes, k):
    """Write scene ``k`` of generated ones."""
    start = sum(scenes.sizes[:k])
    for i in range(scenes.sizes[k]):
        write(folder / f"LR{i:03d}.png", sixteen(scenes.low[start + i]))
        write(folder / f"QM{i:03d}.png", mask(scenes.clear[start + i]))
    write(folder / "HR.png", sixteen(scenes.high[k]))
    write(folder / "SM.png", mask(scenes.known[k]))


def sixteen(picture):
    return (picture.numpy() * FULL).round().astype(np.uint16)


def mask(clear):
    return clear.numpy().astype(np.uint8) * 255


@pytest.fixture(scope="session")
def _written(tmp_path_factory):
    """Write the scenes once."""
    folder = tmp_path_factory.mktemp("scenes")
    for part, split, num in (("train", "train", 6), ("val", "test", 2)):
        scenes = GeneratedScenes(side=SIDE).scenes("RED", split, num)
        for k in range(num):
            write_scene(folder / part / "RED" / f"imgset{k:04d}", scenes, k)
    return folder


@pytest.fixture
def layout(_written, tmp_path):
    """Six scenes for training and two for the test, of band RED, to be changed at will."""
    return shutil.copytree(_written, tmp_path, dirs_exist_ok=True)
