"""Checkpoints of a training: when they are saved, and how they are written and read."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import Any

import lightning as L
import torch
from lightning.pytorch.plugins.io import CheckpointIO

from symsets.train.files import atomic_write

__all__ = ["AtomicIO", "Checkpoint"]


class Checkpoint(L.Callback):
    """Save everything after each validation, where that takes less than a tenth of the time.

    Args:
        path: The file.
        every: Epochs between validations.
    """

    FREE = 2.0  # seconds that may be spent on it in any case

    def __init__(self, path: Path, every: int) -> None:
        self.path = path
        self.every = every
        self._started = time.perf_counter()
        self._spent = 0.0

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """Save what there is, unless that has become dear."""
        now = time.perf_counter()
        dear = self._spent > max(self.FREE, 0.1 * (now - self._started))
        if dear or (trainer.current_epoch + 1) % self.every:
            return
        trainer.save_checkpoint(self.path)
        self._spent += time.perf_counter() - now


class AtomicIO(CheckpointIO):
    """Write checkpoints whole or not at all, and execute nothing when reading them."""

    def save_checkpoint(self, checkpoint: Any, path: Any, storage_options: Any = None) -> None:
        """Write a file."""
        content = io.BytesIO()
        torch.save(checkpoint, content)
        with atomic_write(Path(path)) as part:
            part.write_bytes(content.getbuffer())  # a full disk is an OSError, as nowhere in torch

    def load_checkpoint(
        self, path: Any, map_location: Any = None, weights_only: bool | None = None
    ) -> Any:
        """Read a file; one sentence if it is not one of ours."""
        try:
            found = torch.load(path, map_location=map_location, weights_only=True)
            if "fitted" not in found:
                raise ValueError("it is of something else")
            return found
        except (OSError, torch.OutOfMemoryError):
            raise  # nothing is wrong with the file itself
        except Exception as error:
            raise ValueError(
                f"checkpoint {path} cannot be read ({type(error).__name__}): delete it to start "
                "this run anew"
            ) from error

    def remove_checkpoint(self, path: Any) -> None:
        """Remove a file, if it is there."""
        Path(path).unlink(missing_ok=True)
