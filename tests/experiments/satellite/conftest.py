"""A folder of scenes in the layout of the challenge, small, and with a known defect if wanted."""

import shutil

import numpy as np
import pytest

from symsets.experiments.satellite.generated import GeneratedScenes

SIDE = 16


def write(path, values):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    path.parent.mkdir(parents=True, exist_ok=True)
    image.fromarray(values).save(path)


def write_scene(folder, scene):
    for i, (picture, clear) in enumerate(zip(scene.low, scene.clear, strict=True)):
        write(folder / f"LR{i:03d}.png", picture)
        write(folder / f"QM{i:03d}.png", mask(clear))
    write(folder / "HR.png", scene.high)
    write(folder / "SM.png", mask(scene.known))


def mask(clear):
    return clear.astype(np.uint8) * 255


@pytest.fixture(scope="session")
def _written(tmp_path_factory):
    """Write the scenes once."""
    folder = tmp_path_factory.mktemp("scenes")
    for part, split, num in (("train", "train", 6), ("val", "test", 2)):
        for k, scene in enumerate(GeneratedScenes(side=SIDE).scenes("RED", split, num)):
            write_scene(folder / part / "RED" / f"imgset{k:04d}", scene)
    return folder


@pytest.fixture
def layout(_written, tmp_path):
    """Six scenes for training and two for the test, of band RED, to be changed at will."""
    return shutil.copytree(_written, tmp_path, dirs_exist_ok=True)
