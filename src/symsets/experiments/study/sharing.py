"""Work that several processes share, on one machine or on several with a common disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from symsets._files import file_lock
from symsets.train.processes import is_alone

T = TypeVar("T")


def shared(
    items: Iterable[T], locks: Callable[[T], Iterable[Path]], rest: Callable[[T], T | None]
) -> Iterator[T]:
    """Give item after item that no other process is at, until none is left for us.

    While the caller is at an item, other processes pass it by; what a process that died leaves
    behind, another takes up. Processes of one launcher (``torchrun``) all get every item, since
    they work on it together.

    Args:
        items: What is to be done.
        locks: The files to hold for an item.
        rest: What is left of an item by now, perhaps nothing.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> locks, rest = (lambda word: [folder / word]), (lambda word: word)
        >>> mine, theirs = (shared(["a", "b", "c"], locks, rest) for _ in range(2))
        >>> next(mine), next(theirs), next(mine)
        ('a', 'b', 'c')
    """
    waiting = list(items)
    while waiting:
        passed = []
        for item in waiting:
            with ExitStack() as stack:
                ours = not is_alone() or all(
                    stack.enter_context(file_lock(path, wait=False)) for path in locks(item)
                )
                if not ours:
                    passed.append(item)
                elif left := rest(item):
                    yield left
        if len(passed) == len(waiting):
            return
        waiting = passed
