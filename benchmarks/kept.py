"""What the benchmarks leave behind: numbers, and what they were made by.

Numbers that a page cites are in ``results/benchmarks/``, one file for each run of a script.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import torch

from symsets import __version__
from symsets.experiments.study.records import device_name, source_commit

__all__ = ["keep"]


def keep(path: Path | None, *, device: str = "cpu", **content: Any) -> None:
    """Write numbers with command, device, versions and commit; nothing if no path is given."""
    if path is None:
        return
    script, *arguments = sys.argv
    if "--out" in arguments:
        place = arguments.index("--out")
        del arguments[place : place + 2]
    # Keep the names of data files, not the folders of this machine.
    arguments = [Path(word).stem if Path(word).is_absolute() else word for word in arguments]
    command = shlex.join(["python", f"benchmarks/{Path(script).name}", *arguments])
    about = {
        "command": command,
        "device": device_name(device),
        "torch": torch.__version__,
        "symsets": __version__,
        "commit": source_commit(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(about | content, indent=1, ensure_ascii=False) + "\n")
