"""Options, errors and output shared by commands that run a pipeline on Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum, auto
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from mead.spark.pipeline.file_run import FolderReport
    from mead.spark.runtime.fast_profile import FastProfile

FAILED = 1
"""The exit code of a run that did not work, or whose report could not be written."""


class ProfilePart(StrEnum):
    """A part of the fast micro-batch profile that can be left out.

    Frozen workers stay: they join control groups.
    """

    QUIET_COMMITS = auto()
    UNIX_SOCKETS = auto()
    PLAIN_PLANNING = auto()
    QUICK_COMPILER = auto()
    SIMPLE_COLLECTOR = auto()
    COMPILED_PYSPARK = auto()
    ALL = auto()


def profile_without(parts: Iterable[ProfilePart]) -> FastProfile:
    """The fast micro-batch profile without these parts.

    >>> profile_without([ProfilePart.QUIET_COMMITS]).quiet_commits, profile_without([ProfilePart.ALL]).frozen_workers
    (False, True)
    """
    from mead.spark.runtime.fast_profile import FastProfile

    asked = set(parts)
    left_out = set(ProfilePart) if ProfilePart.ALL in asked else asked
    return FastProfile(**{part.value: False for part in left_out - {ProfilePart.ALL}})


def refuse_used(ctx: typer.Context, folder: Path) -> None:
    """Refuse a folder that is not empty: a run would read the files that another run left there."""
    if folder.is_dir() and any(folder.iterdir()):
        ctx.fail(f"{folder}: there is a run in it already, or something else; name a new folder")


@contextmanager
def failures(ctx: typer.Context, folder: Path) -> Iterator[None]:
    """End the command with one line if the run cannot begin."""
    from mead.history import HistoryError
    from mead.keys import ConfigError
    from mead.spark.pipeline.operators import OperatorError
    from mead.spark.pipeline.run import SparkLostError
    from mead.spark.runtime.quiet_start import SparkStartError

    try:
        yield
    except SparkLostError as lost:
        typer.echo(f"{ctx.command_path}: {lost}", err=True)
        raise typer.Exit(FAILED) from None
    except (ConfigError, HistoryError, OperatorError, SparkStartError) as error:
        ctx.fail(str(error))
    except OSError as error:
        ctx.fail(f"{error.filename or folder}: {error.strerror or error}")


def end_run(ctx: typer.Context, report: FolderReport) -> None:
    """End the command after its output.

    If the run did not work, with an error code and the reason in one line.
    """
    from mead.keys import printable

    if reason := report.run.result.failure:
        typer.echo(f"{ctx.command_path}: the run did not work: {printable(reason)}", err=True)
    if reason or report.page is None:
        raise typer.Exit(FAILED)


def print_report(report: FolderReport, notes: Sequence[str]) -> None:
    """Print the report on standard output: figures, notes, and where to look further."""
    from rich.console import Console

    from mead.history import IN_FOLDER
    from mead.spark.pipeline.wiring import RESULTS

    console, folder = Console(), report.folder
    for part in report.run.tables():
        console.print(part)
        console.print()
    page = [] if report.page is None else [f"Report: {report.page}"]
    for line in (*notes, *page, f"Results (Parquet): {folder / RESULTS}"):
        typer.echo(line)
    typer.echo(f"Every decision: mead history {folder / IN_FOLDER} --run -1 --changes")
    typer.echo(f"How one was made: mead explain change {folder}")
    typer.echo(f"In the browser: mead serve {folder}")


def warn(what: str) -> None:
    """Print a line on standard error."""
    typer.echo(what, err=True)
