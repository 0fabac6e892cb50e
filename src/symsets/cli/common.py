"""What all commands share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import getdoc
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import Progress
from typer.core import TyperGroup

from symsets._extras import MissingExtraError, check_experiments
from symsets._interrupt import interrupts_as_usual

if TYPE_CHECKING:
    from symsets.experiments.report import Report
    from symsets.experiments.study.evaluator import Evaluator

MEMORY, DIVERGED = "allocate|not enough memory", "^training failed"

USAGE_ERROR: Any = typer.BadParameter.__base__  # typer's own, or click's in older versions

PART = re.compile(r"\.([^/\\]+)\.[0-9a-f]{12}\.part$")

console = Console(highlight=False, markup=False)  # names of files may hold brackets
error_console = Console(stderr=True, highlight=False, markup=False)


@contextmanager
def user_errors(*, experiments: bool = False, continues: bool = False) -> Iterator[None]:
    """Turn what a user can get wrong into one line and exit status 2, an interrupt into 130.

    Args:
        experiments: Whether the libraries of the experiments are needed.
        continues: Whether the same command goes on after an interrupt.
    """
    interrupts_as_usual()
    interrupted = "interrupted" + "; the same command continues where it was" * continues
    try:
        if experiments:
            check_experiments()
        yield
    except KeyboardInterrupt as error:
        error_console.print(f"symsets: {interrupted}")
        raise typer.Exit(130) from error
    except (ValueError, OSError, MissingExtraError, MemoryError, RuntimeError) as error:
        if type(error) is RuntimeError and not re.search(f"{MEMORY}|{DIVERGED}", str(error)):
            raise  # a mistake of ours
        error_console.print(f"symsets: {_message(error)}", soft_wrap=True)
        raise typer.Exit(2) from error


@contextmanager
def progress_bar(text: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar in a terminal; give the function to call with how much is done, of how much."""
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(text, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


def paragraphs(command: Callable[..., None]) -> str:
    """Return what a command says about itself, without breaks of lines within a paragraph."""
    return "\n\n".join(" ".join(x.split()) for x in (getdoc(command) or "").split("\n\n"))


class OneLineErrors(TyperGroup):
    """Commands that answer a wrong option or a missing argument with one line, too."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Read the arguments of the group itself."""
        with _usage_errors():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Read the arguments of the command that was asked for, and run it."""
        with _usage_errors():
            return super().invoke(ctx)


@contextmanager
def _usage_errors() -> Iterator[None]:
    """Turn an error of typer's into one line and exit status 2; a call for help stays one."""
    try:
        yield
    except USAGE_ERROR as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            raise
        path = error.ctx.command_path if error.ctx else "symsets"
        text = error.format_message().rstrip(".")
        error_console.print(f"{path}: {text}; {path} --help shows what there is", soft_wrap=True)
        raise typer.Exit(2) from error


def _message(error: Exception) -> str:
    """Return what went wrong, without the number that the system has for it."""
    if isinstance(error, OSError) and error.strerror:
        path = PART.sub(r"\1", str(error.filename or ""))  # the file, not the part of it
        return f"{path}: {error.strerror}" if path else error.strerror
    if isinstance(error, MemoryError | RuntimeError) and not re.search(DIVERGED, str(error)):
        return f"not enough memory for this: {error}"
    return str(error)


def show_left_out(evaluator: Evaluator) -> None:
    """Print what of the data could not be used, if anything."""
    if lines := evaluator.left_out():
        console.print(*lines, "", sep="\n", soft_wrap=True)


def show_report(report: Report) -> None:
    """Print the tables and conclusions of a report, and where it was written."""
    from symsets.pages import to_rich

    for table in report.tables:
        console.print(to_rich(table, width=console.width), "")
    for line in report.headlines:
        console.print(line)
    console.print()
    for path in (report.html, report.markdown, *report.figures):
        console.print(f"written to {path}", soft_wrap=True)
