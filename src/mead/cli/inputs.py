"""The files that several commands take: a pipeline, a trace, and what to know about reading them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer
from typer.core import TyperCommand, TyperOption

if TYPE_CHECKING:
    from mead.config import PipelineFile
    from mead.policies import PolicyOptions
    from mead.workload import Trace

POLICIES = "POLICIES"
"""Stands for the names of all policies in a help text, until the help is shown."""

PLOT_ENDINGS = (".png", ".pdf", ".svg")

PipelinePath = Annotated[
    Path, typer.Argument(metavar="PIPELINE", help="A pipeline file in YAML, such as `examples/log-analysis.yaml`.")
]
TracePath = Annotated[
    Path,
    typer.Option("--trace", "-t", metavar="TRACE", help="Arrivals at the source: Parquet, CSV, text or .npy."),
]
AreIats = Annotated[bool, typer.Option("--iat", help="The file holds inter-arrival times, not time stamps.")]
ColumnName = Annotated[str | None, typer.Option(metavar="NAME", help="The column to read: a name, or a number from 1.")]
UnitOption: TypeAlias = Literal["s", "ms", "us", "ns"] | None
UnitName = Annotated[UnitOption, typer.Option(help="Unit of the numbers, if the column name does not contain it.")]
Sorted = Annotated[bool, typer.Option("--sort", help="Sort time stamps that are out of order.")]
PolicyName = Annotated[
    str | None,
    typer.Option("--policy", metavar="NAME", help=f"{POLICIES}; default the one of the pipeline file."),
]
PolicyOption = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="An option of the policy, see below; may be repeated."),
]
Trust = Annotated[
    bool,
    typer.Option("--trust", help="Run a policy class that the pipeline file names, or that lies beside it."),
]
PlotPath = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw to this file: .png, .pdf or .svg.")]


class _NamesPolicies(TyperOption):
    """An option whose help names all policies.

    They are looked up when the help is shown, because that takes time.
    """

    @property
    def help(self) -> str:
        """The help text with the names."""
        from mead.policies import policies

        return self._help.replace(POLICIES, ", ".join(policies()))

    @help.setter  # noqa: A003 - the name is click's
    def help(self, text: str) -> None:
        self._help = text


class HelpsWithPolicies(TyperCommand):
    """A command whose help names the policies and ends with their options."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        for option in self.params:
            if isinstance(option, TyperOption) and POLICIES in (text := option.help or ""):
                option.__class__ = _NamesPolicies
                option.help = text

    @property
    def epilog(self) -> str:
        """The options of all policies."""
        from mead.config.reference import policy_help

        return policy_help()

    @epilog.setter
    def epilog(self, _: str | None) -> None:
        """Ignore the text that the base class sets."""


def read_case(case: Path) -> bytes:
    """A case in JSON, from a file or from standard input. Raises ConfigError."""
    from mead.keys import read_file, read_to_end

    return read_to_end(sys.stdin.buffer) if str(case) == "-" else read_file(case)


def read_pipeline_or_fail(ctx: typer.Context, path: Path) -> PipelineFile:
    """A pipeline file, or the complaint about it."""
    from mead.config import read_pipeline
    from mead.keys import ConfigError

    try:
        return read_pipeline(path)
    except ConfigError as error:
        ctx.fail(str(error))


def policy_or_fail(
    ctx: typer.Context,
    path: Path,
    file: PipelineFile,
    name: str | None = None,
    settings: Sequence[str] = (),
    *,
    named: bool,
    trust: bool,
) -> PolicyOptions:
    """The options of a policy, or the end of the command with the reason.

    A policy class that the user ``named`` may lie in the current folder. ``trust`` allows a class that the file names,
    and classes beside the file. The policy is made once to find its mistakes before a run.
    """
    from mead.config import choose_policy
    from mead.keys import ConfigError
    from mead.loading import modules_beside, modules_in
    from mead.policies import make_policy

    try:
        with file.naming_lines():
            options = choose_policy(file.policy, name, settings, trust=trust or named)
            if ":" in options.name:
                if named:
                    modules_in(Path())
                modules_beside(path, options.name, trust=trust)
            options.check(file.pipeline)
            make_policy(options)
    except ConfigError as error:
        ctx.fail(str(error))
    return options


def read_trace_or_fail(
    ctx: typer.Context, path: Path, *, iat: bool, column: str | None, unit: UnitOption, sort: bool
) -> Trace:
    """A trace, or the complaint about it."""
    from mead.workload import TraceError, read_trace

    try:
        return read_trace(path, iat=iat, sort=sort, column=column, unit=unit)
    except TraceError as error:
        ctx.fail(str(error))


def check_java(ctx: typer.Context) -> None:
    """Complain in one line if there is no Java for Spark."""
    from mead.spark.runtime import quiet_start

    try:
        quiet_start.check_java()
    except quiet_start.SparkStartError as error:
        ctx.fail(str(error))
