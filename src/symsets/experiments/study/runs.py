"""The directory of a study, the directory of a run, and runs that are trained together."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from symsets._files import atomic_write, file_lock, reading, write_json
from symsets.data.folders import STUDY
from symsets.experiments.study.records import Record, from_plain, to_plain

LOCK = ".lock"
DONE = "done.json"
RESULTS = ("runs", "unfinished", "results.json")  # what must not be lost


@contextmanager
def lock_study(out: Path) -> Iterator[None]:
    """Keep other processes from a study; raise ValueError if one is at work there."""
    with file_lock(out / LOCK) as ours:
        if not ours:
            raise ValueError(
                f"{out} must not be in use by another process: wait for its end, or choose another "
                "--out; --ray is what gives the runs of one study to several processes"
            )
        yield


def claim_directory(out: Path, config: Mapping[str, Any]) -> None:
    """Make ``out`` the directory of a study; refuse one with runs of another config."""
    if out.exists() and not out.is_dir():
        raise ValueError(f"out must be a folder, but {out} is a file: choose another --out")
    path, wanted = out / STUDY, json.loads(json.dumps(dict(config)))
    out.mkdir(parents=True, exist_ok=True)
    with lock_study(out):
        if path.exists():
            with reading(path, "the description of a study") as found:
                both = {**found, **wanted}
            differing = sorted(k for k in both if found.get(k) != wanted.get(k))
            if not differing:
                return
            if any((out / name).exists() for name in RESULTS):
                changes = ", ".join(f"{k}: {found.get(k)} → {wanted.get(k)}" for k in differing)
                raise ValueError(
                    f"{out} holds runs of another configuration ({changes}): choose another --out"
                )
        elif any(other.name != LOCK for other in out.iterdir()):
            raise ValueError(
                f"{out} must be empty or hold runs of this study: choose another --out"
            )
        write_json(path, wanted)


@dataclass(frozen=True)
class RunDirectory:
    """One run on disk; it is finished when ``done.json`` is there, written last."""

    path: Path

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return (self.path / DONE).exists()

    @contextmanager
    def reading_config(self) -> Iterator[dict[str, Any]]:
        """Give what the finished run was told to do; errors inside name the file."""
        with reading(self.path / DONE, "the configuration of a run") as found:
            yield found["config"]

    def curves(self) -> dict[str, list[float]]:
        """Return the columns of the learning curve, one entry for each validation."""
        with reading(self.path / DONE, "a run with a table of epochs") as done:
            found = {
                name: [math.nan if value is None else float(value) for value in column]
                for name, column in done["curves"].items()
            }
            if found and not all(map(math.isfinite, found["epoch"])):
                raise ValueError("an epoch has no number")
            if len({len(column) for column in found.values()}) > 1:
                raise ValueError("its columns differ in length")
            return found

    def records(self) -> list[Record]:
        """Return what the finished run measured."""
        with reading(self.path / DONE, "a list of records") as found:
            records = [from_plain(plain) for plain in found["records"]]
            if not records:
                raise ValueError("it holds none; delete it, and the run is done again")
            return records

    def write(
        self,
        config: Mapping[str, Any],
        curves: Sequence[Mapping[str, float]],
        arrays: Mapping[str, Tensor],
        records: Sequence[Record],
    ) -> None:
        """Write everything but the network, the mark of completion last."""
        (self.path / DONE).unlink(missing_ok=True)  # of the same run on other data
        write_arrays(self.path / "predictions.npz", arrays)
        columns = {
            name: [float(f"{v:.6g}") if math.isfinite(v := row[name]) else None for row in curves]
            for name in (curves[0] if curves else ())
        }
        plain = [to_plain(record) for record in records]
        write_json(self.path / DONE, {"config": dict(config), "curves": columns, "records": plain})


@dataclass(frozen=True)
class RunGroup:
    """Runs that are trained together: one model at one setting and size, some seeds."""

    setting: str
    model: str
    train_size: int
    epochs: int
    seeds: tuple[int, ...]

    @property
    def name(self) -> str:
        """What a progress bar shows."""
        words = [self.setting, self.model, f"{self.train_size:,} sets"]
        return ", ".join(word for word in words if word)

    @property
    def cost(self) -> int:
        """How much there is to compute, for the time that is left."""
        return self.epochs * self.train_size * len(self.seeds)


def write_arrays(path: Path, arrays: Mapping[str, Tensor], *, half: bool = False) -> None:
    """Write tensors in single or half precision; a kill in the middle leaves no file."""
    dtype = torch.float16 if half else torch.float32
    content: dict[str, Any] = {
        name: (x.to(dtype) if x.is_floating_point() else x).detach().cpu().numpy()
        for name, x in arrays.items()
    }
    with atomic_write(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **content)
