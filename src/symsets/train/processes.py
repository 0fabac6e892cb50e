"""Which process this is, when several work on one run (``torchrun``, SLURM)."""

import atexit
import os
import re
from typing import Any

import torch

LAUNCHER = re.compile("(LOCAL_)?(WORLD_SIZE|RANK)|SLURM_.*")  # what tells a process of its peers


def forget_launcher() -> None:
    """Make this process one that works by itself, though a launcher may have started it."""
    for name in filter(LAUNCHER.fullmatch, list(os.environ)):
        del os.environ[name]


def _number(*names: str) -> int | None:
    """Return the first of some environment variables that is set."""
    for name in names:
        if value := os.environ.get(name):
            return int(value)
    return None


def is_first() -> bool:
    """Whether this process is the one that writes files and talks to the user."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank() == 0
    return (_number("RANK", "SLURM_PROCID") or 0) == 0


def distributed_options() -> dict[str, Any]:
    """Return what Lightning's ``Fabric`` needs to know where a launcher started several of us.

    ``torchrun`` tells the number of processes by ``WORLD_SIZE``. Inside a SLURM job with several
    tasks Lightning finds its peers by itself, from the same options.
    """
    world = _number("WORLD_SIZE", "SLURM_NTASKS") or 1
    if world == 1:
        return {}
    local = _number("LOCAL_WORLD_SIZE", "SLURM_NTASKS_PER_NODE") or world
    return {"strategy": "ddp", "devices": local, "num_nodes": world // local}


def leave_at_exit() -> None:
    """Leave the group of processes when Python ends.

    Lightning does so for NCCL alone; with gloo, a process that ends before the threads of its group
    may be aborted.
    """
    atexit.unregister(_leave)  # once is enough
    atexit.register(_leave)


def _leave() -> None:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
