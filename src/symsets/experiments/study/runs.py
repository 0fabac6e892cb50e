"""The directory of a study, the directory of a run, and runs that are trained together."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from symsets.data.folders import STUDY
from symsets.experiments.study.records import Record, from_plain, reading, to_plain
from symsets.experiments.study.sharing import file_lock
from symsets.train.files import atomic_write, write_json

__all__ = ["RunDirectory", "RunGroup", "claim_directory", "write_arrays"]

LOCK = ".lock"
RESULTS = ("runs", "unfinished", "results.json")  # what must not be lost


def claim_directory(out: Path, config: Mapping[str, Any]) -> None:
    """Make ``out`` the directory of a study; refuse one with runs of another config."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"out must be a folder, but {out} is a file: choose another --out")
    with file_lock(out / LOCK):
        _claim_directory(out, config)


def _claim_directory(out: Path, config: Mapping[str, Any]) -> None:
    path = out / STUDY
    wanted = json.loads(json.dumps(dict(config)))
    if path.exists():
        found = _read_config(path)
        if found != wanted and not any((out / name).exists() for name in RESULTS):
            write_json(path, wanted)  # nothing came of the other one
        elif found != wanted:
            differing = sorted(k for k in found | wanted if found.get(k) != wanted.get(k))
            changes = ", ".join(f"{k}: {found.get(k)} → {wanted.get(k)}" for k in differing)
            raise ValueError(
                f"{out} holds runs of another configuration ({changes}): choose another --out"
            )
        return
    if any(other.name != LOCK for other in out.iterdir()):
        raise ValueError(f"{out} must be empty or hold runs of this study: choose another --out")
    write_json(path, wanted)


def _read_config(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError(f"it must map names to settings, got {found!r}")
    except ValueError as error:
        raise ValueError(f"{path} cannot be read ({error}): choose another --out") from error
    return found


class RunDirectory:
    """One run on disk; it is finished when ``done.json`` is there, written last.

    Args:
        path: The directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return (self.path / "done.json").exists()

    def records(self) -> list[Record]:
        """Return what the finished run measured."""
        path = self.path / "done.json"
        with reading(path, "a list of records"):
            return [from_plain(plain) for plain in json.loads(path.read_text(encoding="utf-8"))]

    def write(
        self,
        config: Mapping[str, Any],
        curves: Sequence[Mapping[str, float]],
        arrays: Mapping[str, Tensor],
        records: Sequence[Record],
    ) -> None:
        """Write everything but the network, the mark of completion last."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self.path / "config.json", dict(config))
        if curves:
            with (
                atomic_write(self.path / "curves.csv") as part,
                part.open("w", newline="", encoding="utf-8") as file,
            ):
                writer = csv.DictWriter(file, fieldnames=list(curves[0]))
                writer.writeheader()
                writer.writerows({k: f"{v:.6g}" for k, v in row.items()} for row in curves)
        write_arrays(self.path / "predictions.npz", arrays)
        write_json(self.path / "done.json", [to_plain(record) for record in records])


@dataclass(frozen=True)
class RunGroup:
    """Runs that are trained together: one model at one setting and size, some seeds."""

    setting: str
    model: str
    train_size: int
    epochs: int
    seeds: tuple[int, ...]
    relative_cost: float = 1.0

    @property
    def name(self) -> str:
        """What a progress bar shows."""
        words = [self.setting, self.model, f"{self.train_size:,} sets"]
        return ", ".join(word for word in words if word)

    @property
    def cost(self) -> float:
        """How much there is to compute, for the time that is left."""
        return self.epochs * self.train_size * len(self.seeds) * self.relative_cost


def write_arrays(path: Path, arrays: Mapping[str, Tensor]) -> None:
    """Write tensors, in single precision at most; a kill in the middle leaves no file."""
    plain = {key: value.detach().cpu() for key, value in arrays.items()}
    content: dict[str, Any] = {
        key: (value.float() if value.dtype in (torch.float64, torch.bfloat16) else value).numpy()
        for key, value in plain.items()
    }
    with atomic_write(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **content)
