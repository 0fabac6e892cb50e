"""The ``symsets`` command before torch is imported: quiet interrupts, and help without torch."""

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


def asks_for_help() -> bool:
    """Whether this process is the command and only shows its help, version or completions."""
    words = sys.argv[1:]
    shows = not words or {"--help", "--version"} & {*words} or "_SYMSETS_COMPLETE" in os.environ
    return bool(shows) and _is_command()


def _end(*_: object) -> NoReturn:
    os.write(2, b"symsets: interrupted\n")
    os._exit(130)


def interrupts_as_usual() -> None:
    """Let interrupts raise KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _end)
