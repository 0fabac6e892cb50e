"""Let an interrupt of the ``symsets`` command be quiet while Python is still importing torch."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import NoReturn


def _is_command() -> bool:
    """Whether this process is the command, as ``symsets`` or as ``python -m symsets``."""
    as_module = sys.argv[:1] == ["-m"] and "symsets" in sys.orig_argv  # until it is found
    return as_module or Path(sys.argv[0] if sys.argv else "").name == "symsets"


def _end(*_: object) -> NoReturn:
    os.write(2, b"symsets: interrupted\n")
    os._exit(130)


def interrupts_as_usual() -> None:
    """Let interrupts raise KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _end)
