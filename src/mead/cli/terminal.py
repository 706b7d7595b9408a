"""Shared by all commands: one-line errors, JSON on standard output, common options."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from mead.extras import MissingExtraError

T = TypeVar("T")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="The same seed gives the same answer.")]


class OneLineErrors(TyperGroup):
    """A program whose errors are one line that begins with the command."""

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run and exit. Typer itself would print an error as a box of several lines."""
        extra["standalone_mode"] = False
        try:
            code = super().main(*args, **extra)
            sys.stdout.flush()
        except TyperException as error:
            from mead.keys import printable

            context = getattr(error, "ctx", None)
            command = context.command_path if context else self.name
            message = printable(" ".join(error.format_message().split()))
            typer.echo(f"{command}: {message.replace('Value error, ', '')}", err=True)  # a prefix of pydantic
            sys.exit(2)
        except MissingExtraError as error:
            typer.echo(f"{self.name}: {error}", err=True)
            sys.exit(2)
        except OSError as error:  # commands handle their input files; this is their output
            typer.echo(f"{self.name}: {error.filename or 'standard output'}: {error.strerror or error}", err=True)
            _drop_output()
            sys.exit(2)
        except MemoryError:
            typer.echo(f"{self.name}: out of memory", err=True)
            sys.exit(2)
        sys.exit(code if isinstance(code, int) else 0)


def _drop_output() -> None:
    """Discard the rest of the output; the interpreter would try to write it at exit, and fail again."""
    with suppress(OSError):  # in a test, the output may not be a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(document: dict[str, Any]) -> None:
    """Print the document of a command as strict JSON: NaN and infinity are errors."""
    typer.echo(json.dumps(document, allow_nan=False))


def print_parts(parts: Iterable[Any]) -> None:
    """Print tables and sentences, with a blank line after each."""
    from rich.console import Console

    console = Console()
    for part in parts:
        console.print(part, highlight=False)
        console.print()


def check_writable(ctx: typer.Context, path: Path, endings: tuple[str, ...]) -> None:
    """Fail early if a file cannot be written."""
    if path.suffix.lower() not in endings:
        ctx.fail(f"{path}: the name must end in one of {', '.join(endings)}")
    if not path.parent.is_dir():
        ctx.fail(f"{path}: there is no folder {path.parent}; create it first")
    if path.is_dir():
        ctx.fail(f"{path}: is a folder; give a file name")
    try:
        if path.exists() and not os.access(path, os.W_OK):
            ctx.fail(f"{path}: cannot be written (the file is read-only)")
        TemporaryFile(dir=path.parent).close()  # the file system may be read-only or full
    except OSError as error:
        ctx.fail(f"{path}: cannot be written ({error.strerror or error})")


@contextmanager
def progress_bar(total: float) -> Iterator[Callable[[str, float], None]]:
    """A progress bar on standard error, if that is a terminal. Call it with a description and the progress."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total)
        yield lambda doing, completed: bar.update(task, description=doing, completed=completed)


def collect(items: Iterable[T], total: int, label: Callable[[T], str]) -> list[T]:
    """Make a list, with a progress bar that shows the label of the last item."""
    found: list[T] = []
    with progress_bar(total) as bar:
        for item in items:
            found.append(item)
            bar(label(item), len(found))
    return found
