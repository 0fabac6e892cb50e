"""Code of users that runs before a study, such as a scheme of their own."""

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from symsets._files import atomic_write, below, read_bytes
from symsets._importing import run_file, told
from symsets.nn.registry import schemes


@dataclass(frozen=True)
class Imported:
    """What a file of a user brought along.

    Attributes:
        schemes: The names that it registered.
        files: The file, and those beside it that it imported.
    """

    schemes: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()

    @contextmanager
    def named(self, model: str) -> Iterator[None]:
        """Raise ValueError with file, line and name for what a scheme of the file does wrong."""
        try:
            yield
        except Exception as error:
            if model not in self.schemes or isinstance(error, OSError):
                raise
            where, _, what = told(self.files[0], error).partition(": ")
            raise ValueError(f"{self.files[0]}{where}: scheme {model!r}: {what}") from error

    def keep(self, out: Path) -> Path | None:
        """Keep a copy for each scheme in the directory of a study, and refuse other code there.

        Return where the copy of the file is, if there is a file.
        """
        code = {path.name: path.read_bytes() for path in self.files}
        names = self.schemes or tuple(path.stem for path in self.files[:1])
        folders = [below(out, "imported", name) for name in names]
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
            kept = {path.name: read_bytes(path) for path in folder.glob("*.py")}
            if any(code.get(name) != text for name, text in kept.items()):
                raise ValueError(
                    f"{out} holds runs of {folder.name!r} with other code ({folder}): choose "
                    "another --out, or remove that folder together with the runs that it made"
                )
        for folder in folders:
            for name, text in code.items():
                with atomic_write(folder / name) as part:
                    part.write_bytes(text)
        return folders[0] / self.files[0].name if folders else None


def import_file(path: Path, *, taken: Collection[str] = ()) -> Imported:
    """Run a Python file; raise ValueError naming the line for what goes wrong in it.

    As in a script, it may import modules that lie beside it.

    Args:
        path: The file.
        taken: Models that are no schemes; a scheme of such a name would never be asked for.
    """
    before, known = set(sys.modules), set(schemes())
    module = run_file(path, "import")
    new = tuple(sorted(set(schemes()) - known))
    if clash := [scheme for scheme in new if scheme in taken]:
        raise ValueError(f"{path}: name must be new, but there is a model {clash[0]!r} already")
    file = path.resolve()
    others = [sys.modules[name] for name in sorted(set(sys.modules) - before - {module.__name__})]
    places = [Path(place) for other in others if (place := getattr(other, "__file__", None))]
    return Imported(new, (file, *(place for place in places if place.parent == file.parent)))
