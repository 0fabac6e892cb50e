"""What a finished run leaves behind: one record per metric, in ``results.json``."""

from __future__ import annotations

import math
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import torch

from symsets._files import reading, shorten, write_json
from symsets._version import __version__

SCHEMA = 1
OWN_PREFIX = "src/symsets/experiments/study/"  # where this file lies in its own repository
TYPES: dict[Any, tuple[Any, str]] = {  # of the fields, as they are written in a record
    "str": (str, "text"),
    "int": (int, "an integer"),
    "float": (int | float, "a number"),
}


@cache
def source_commit() -> str:
    """Return the commit of the source tree that runs, or nothing outside of one.

    Installed below a repository of somebody else, the code has none. ``SYMSETS_COMMIT`` names it
    where a copy of the tree runs without its history.
    """
    if named := os.environ.get("SYMSETS_COMMIT"):
        return named
    here = Path(__file__).parent
    try:
        run = subprocess.run(
            ["git", "-C", str(here), "rev-parse", "--show-prefix", "--short=12", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    prefix, _, commit = run.stdout.strip().partition("\n")
    return commit if run.returncode == 0 and prefix == OWN_PREFIX else ""


def command_line() -> str:
    """Return the command line of this process, as a person would type it."""
    name = Path(sys.argv[0]).name
    return shlex.join(["symsets" if name == "__main__.py" else name, *sys.argv[1:]])


def device_name(device: torch.device | str) -> str:
    """Return the name of a device, such as ``cpu`` or ``NVIDIA H200``."""
    device = torch.device(device)
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


@dataclass(frozen=True)
class Record:
    """One number that a run measured, with all that is needed to make it again.

    Attributes are the fields of ``results.json``; see ``docs/results.md``.
    """

    experiment: str
    model: str
    metric: str
    value: float
    scheme: str = ""
    recipe: str = "ours"
    setting: str = ""
    data: str = ""
    preset: str = ""
    train_size: int = 0
    epochs: int = 0
    seed: int = 0
    split: str = "test"
    test_size: int = 0
    parameters: int = 0
    seconds: float = 0.0
    device: str = "cpu"
    torch: str = field(default_factory=lambda: torch.__version__)
    symsets: str = __version__
    commit: str = field(default_factory=source_commit)
    command: str = field(default_factory=command_line)


def to_plain(record: Record) -> dict[str, Any]:
    """Return a record as JSON takes it: the value of a failed run is null."""
    plain = asdict(record)
    return plain if math.isfinite(record.value) else {**plain, "value": None}


def from_plain(plain: Mapping[str, Any]) -> Record:
    """Return a record read from JSON; the value of a failed run is NaN."""
    record = Record(**{**plain, "value": math.nan if plain["value"] is None else plain["value"]})
    check_fields(vars(record))
    return record


def check_fields(plain: Mapping[str, Any]) -> None:
    """Raise ValueError for an entry that has the name of a field of a record but not its type."""
    for entry in fields(Record):
        types, words = TYPES[entry.type]
        value = plain.get(entry.name, types)
        if value is not types and (not isinstance(value, types) or isinstance(value, bool)):
            raise ValueError(f"{entry.name} must be {words}, got {shorten(repr(value))}")


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write ``results.json``."""
    write_json(path, {"schema": SCHEMA, "records": [to_plain(record) for record in records]})


def read_records(path: Path) -> list[Record]:
    """Read ``results.json``; raise ValueError naming the file if it is none."""
    with reading(path, f"a results file of schema {SCHEMA}") as content:
        if content["schema"] != SCHEMA:
            raise ValueError(f"schema {content['schema']} is not {SCHEMA}")
        return [from_plain(record) for record in content["records"]]
