import time

import pytest
import torch

from symsets._files import write_sealed
from symsets.train.checkpoints import Checkpoint

CPU = torch.device("cpu")


@pytest.mark.parametrize("error", [PermissionError(13, "denied"), torch.OutOfMemoryError("full")])
def test_a_sound_checkpoint_is_not_to_be_deleted(tmp_path, monkeypatch, error):
    def fail(*words, **options):
        raise error

    path = tmp_path / "last.ckpt"
    write_sealed(path, b"")
    monkeypatch.setattr(torch, "load", fail)
    with pytest.raises(type(error)):
        Checkpoint(path).load(CPU, print)


def test_checkpoints_take_a_tenth_of_the_time_at_most(tmp_path, monkeypatch):
    monkeypatch.setattr(Checkpoint, "FREE", 0.0)
    checkpoint = Checkpoint(tmp_path / "last.ckpt")
    saved = []

    def state():
        saved.append(len(saved))
        time.sleep(0.05)
        return {"fitted": saved}

    for _ in range(4):
        checkpoint.save(state)
    assert saved == [0]
    time.sleep(0.6)  # by now it is less than a tenth
    checkpoint.save(state)
    found = []
    checkpoint.load(CPU, found.append)
    assert found == [{"fitted": [0, 1]}]


def test_there_need_be_no_checkpoint(tmp_path):
    Checkpoint(tmp_path / "none.ckpt").load(CPU, pytest.fail)


def test_nobody_is_told_to_execute_a_file(tmp_path):
    """Torch says that a file which is no checkpoint could be read with ``weights_only=False``."""
    path = tmp_path / "last.ckpt"
    write_sealed(path, b"garbage")
    with pytest.raises(ValueError, match=r"last\.ckpt cannot be read because it is no checkpoint:"):
        Checkpoint(path).load(CPU, pytest.fail)
