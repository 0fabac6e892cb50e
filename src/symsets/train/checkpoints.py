"""Checkpoints of a training run: when they are saved, how they are written and read."""

import io
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from symsets._files import read_sealed, shorten, write_sealed


class UnusableCheckpointError(ValueError):
    """A file is no checkpoint, or of another run."""


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

    def save(self, state: Callable[[], dict[str, Any]], *, always: bool = False) -> None:
        """Save a state, unless saving has taken more than a tenth of the time so far."""
        start = time.perf_counter()
        if not always and self._spent > max(self.FREE, 0.1 * (start - self._started)):
            return
        content = io.BytesIO()
        torch.save(state(), content)
        write_sealed(self.path, content.getbuffer())  # raises OSError if the disk is full
        self._spent += time.perf_counter() - start

    def load(self, device: torch.device, take: Callable[[dict[str, Any]], None]) -> None:
        """Hand what was saved, if there is something to continue from, to whoever goes on from it.

        Raise UnusableCheckpointError naming the file if it is no checkpoint, or of something else.
        """
        if not self.path.exists():
            return
        try:
            content = io.BytesIO(read_sealed(self.path))
            take(torch.load(content, map_location=device, weights_only=True))
        except (OSError, MemoryError, torch.OutOfMemoryError):
            raise  # nothing is wrong with the file itself
        except Exception as error:
            cause = f"{error}" if type(error) is ValueError else f"{type(error).__name__}: {error}"
            if isinstance(error, pickle.UnpicklingError):  # torch says how to execute it instead
                cause = "it is no checkpoint"
            raise UnusableCheckpointError(
                f"checkpoint {self.path} cannot be read because {shorten(cause)}: "
                "delete it to start this run anew"
            ) from error
