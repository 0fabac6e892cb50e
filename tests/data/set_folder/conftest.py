import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")


def paint(path, *, size=(40, 32), grey=100, **options):
    """Write a picture of one colour; ``size`` is width and height."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (grey, grey // 2, 255 - grey)).save(path, **options)
    return path


class Folder:
    """A folder of sets to be written by a test."""

    def __init__(self, root):
        self.root = root

    def paint(self, name, **options):
        return paint(self.root / name, **options)

    def sets(self, *names, sizes=(2, 3, 4), suffix="png"):
        """Write sets of pictures, each with a grey of its own."""
        for k, name in enumerate(names):
            for j in range(sizes[k % len(sizes)]):
                self.paint(f"{name}/{j}.{suffix}", grey=10 * k + j)

    def array(self, name, values):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, np.asarray(values, dtype=np.float32))
        return path

    def labels(self, text, place="labels.csv", encoding="utf-8"):
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace(" ", "\n"), encoding=encoding)
        return path


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "photos")
