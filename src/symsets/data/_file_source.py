"""The part that all sources of files share: their splits, and a count of skipped files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from symsets.data.decoding import Skipped, in_threads
from symsets.data.splits import SPLITS, checked_split

T = TypeVar("T")


class FileSource:
    """Files in three splits.

    Args:
        name: What tables call the data.
        files: The files of each split, or what they contain, in the order of their use.
        size: Height and width of the pictures or frames.
        root: Where the files lie, for messages.
    """

    KIND = "files"  # in messages
    IS_FOLDER = False  # a user's own, whose files can be moved

    def __init__(
        self, name: str, files: Mapping[str, Sequence[Any]], *, size: int, root: Path
    ) -> None:
        if size < 1:
            raise ValueError(f"size must be positive, got {size}")
        self.name, self.files, self.size, self.root = name, files, size, root
        self._skipped: dict[str, Skipped] = {}

    @property
    def skipped(self) -> Skipped:
        """How many files were left out so far, for each reason."""
        return Skipped(sum(self._skipped.values(), Skipped()))

    def _decode(
        self,
        split: str,
        read: Callable[[Any], Iterable[T]],
        num: int | None,
        *,
        block: int,
        least: int = 1,
    ) -> list[T]:
        """Return the first ``num`` results of reading the files of a split, ``least`` in any case.

        Args:
            split: Which files.
            read: Returns what one file gives; files for which it raises UnusableError are counted.
            num: All if None.
            block: Files that are read at once.
            least: Fewer are an error.
        """
        files = self.files[checked_split(split)]
        skipped = self._skipped[split] = Skipped()
        found = list(
            islice(chain.from_iterable(in_threads(read, files, skipped, block=block)), num)
        )
        if len(found) < least:
            counts = {split: len(self.files[split]) for split in SPLITS}
            kind = self.KIND[:-1] if len(found) == 1 else self.KIND
            advice = (
                f". A folder needs {len(SPLITS) * least} usable {self.KIND} at least; subfolders "
                "called train, val and test choose the splits by hand"
            )
            raise ValueError(
                f"{self.root} has {len(found) or 'no'} usable {kind} for split {split!r}, "
                f"{least} needed; files per split: {counts}; {skipped}"
                + (advice if self.IS_FOLDER else "")
            )
        return found

    def __repr__(self) -> str:
        counts = ", ".join(f"{split}: {len(self.files[split])}" for split in SPLITS)
        return f"{type(self).__name__}({self.name!r}, size={self.size}, {counts})"
