"""Checkpoints of a training run: when they are saved, how they are written and read."""

import io
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from symsets.train.files import atomic_write


class Checkpoint:
    """The file that an interrupted run continues from.

    Args:
        path: Written whole or not at all, and read with ``weights_only=True``.
    """

    FREE = 2.0  # seconds that may be spent on saving in any case

    def __init__(self, path: Path) -> None:
        self.path = path
        self._started = time.perf_counter()
        self._spent = 0.0

    def save(self, state: Callable[[], dict[str, Any]]) -> None:
        """Save a state, unless saving has taken more than a tenth of the time so far."""
        start = time.perf_counter()
        if self._spent > max(self.FREE, 0.1 * (start - self._started)):
            return
        content = io.BytesIO()
        torch.save(state(), content)
        with atomic_write(self.path) as part:
            part.write_bytes(content.getbuffer())  # raises OSError if the disk is full
        self._spent += time.perf_counter() - start

    def load(self, device: torch.device) -> dict[str, Any] | None:
        """Return what was saved, or None if there is nothing to continue from.

        Raise ValueError naming the file if it is not a checkpoint.
        """
        if not self.path.exists():
            return None
        try:
            found: dict[str, Any] = torch.load(self.path, map_location=device, weights_only=True)
            if "fitted" not in found:
                raise ValueError("it is of something else")
        except (OSError, torch.OutOfMemoryError):
            raise  # nothing is wrong with the file itself
        except Exception as error:
            raise ValueError(
                f"checkpoint {self.path} cannot be read ({type(error).__name__}): delete it to "
                "start this run anew"
            ) from error
        if "pytorch-lightning_version" in found:
            warnings.warn(
                f"{self.path} was written by an earlier version: this run starts anew",
                stacklevel=2,
            )
            return None
        return found
