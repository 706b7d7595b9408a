"""``mead generate``: one sub-command per kind of arrivals, made from the registry of generators."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from mead.cli.terminal import AsJson, Seed, check_writable, print_json

if TYPE_CHECKING:
    from mead.workload import Generator, Kind, Parameter

Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Trace file to write. The extension selects the format.")
]
MeanDelay = Annotated[
    float,
    typer.Option(min=0, metavar="SECONDS", help="Delay tuples independently, uniformly from 0 to twice this mean."),
]
AsIats = Annotated[bool, typer.Option("--iat", help="Write inter-arrival times instead of time stamps.")]
Matrices = Annotated[
    Path | None, typer.Option(metavar="FILE", help="JSON file with D0 and D1, or the output of `mead fit --json`.")
]


class Kinds(TyperGroup):
    """One command per kind, built on demand because the registry is slow to import."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all kinds."""
        del ctx
        from mead.workload import KINDS

        return list(KINDS)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand:
        """Return the command of one kind."""
        from mead.workload import KINDS

        if cmd_name not in KINDS:
            ctx.fail(f"unknown kind of arrivals {cmd_name!r}; choose from {', '.join(KINDS)}")
        return _command_of(KINDS[cmd_name])


app = typer.Typer(cls=Kinds, rich_markup_mode="markdown", subcommand_metavar="KIND -o TRACE [OPTIONS]")


@app.callback(invoke_without_command=True)
def generate(ctx: typer.Context) -> None:
    """Generate arrivals and write them to a trace file.

    `mead generate KIND --help` lists the options of a kind. Examples:

    - `mead generate poisson --rate 330 --duration 60 -o smooth.parquet`
    - `mead generate map --rate 330 --idc 200 --duration 300 -o bursty.parquet`
    - `mead generate map --matrices fit.json --count 100000 -o again.csv`
    - `mead generate steps --rates 100,400,200 --step 20 -o steps.npy`
    - `mead generate poisson --rate 330 --count 9999 --mean-delay 0.2 -o late.csv`
    """
    if ctx.invoked_subcommand is None:
        from mead.workload import KINDS

        ctx.fail(f"name a kind of arrivals: {', '.join(KINDS)}")


def _command_of(kind: Kind) -> TyperCommand:
    """Build the command of a kind from the options of its generator and the common options."""

    def run(
        ctx: typer.Context,
        *,
        output: Output,
        seed: Seed = 0,
        mean_delay: MeanDelay = 0.0,
        iat: AsIats = False,
        as_json: AsJson = False,
        **own: Any,
    ) -> None:
        _write(ctx, _built(ctx, kind, own), output, seed=seed, mean_delay=mean_delay, iat=iat, as_json=as_json)

    signature = inspect.signature(run, eval_str=True)
    common = [option for option in signature.parameters.values() if option.kind is not inspect.Parameter.VAR_KEYWORD]
    own = [_option_of(parameter) for parameter in kind.parameters]
    if any(option.name == "D0" for option in own):
        own.append(inspect.Parameter("matrices", inspect.Parameter.KEYWORD_ONLY, annotation=Matrices, default=None))
    # Typer reads the options of a command from the signature of its function.
    cast(Any, run).__signature__ = signature.replace(parameters=[common[0], *own, *common[1:]])
    single = typer.Typer(rich_markup_mode="markdown", add_completion=False)
    single.command(kind.name, help=kind.summary)(run)
    return cast(TyperCommand, typer.main.get_command(single))


def _option_of(parameter: Parameter) -> inspect.Parameter:
    """Build an option as text; the registry parses it, including lists and matrices."""
    default = "" if parameter.required or parameter.default is None else f"  [default: {_shown(parameter.default)}]"
    metavar = {float: "NUMBER", int: "N"}.get(
        parameter.type, "NUMBER,..." if "tuple" in str(parameter.type) else "ROWS"
    )
    option = typer.Option(parameter.flag, metavar=metavar, help=parameter.help + default)
    return inspect.Parameter(
        parameter.name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[str, option] if parameter.required else Annotated[str | None, option],
        default=inspect.Parameter.empty if parameter.required else None,
    )


def _shown(default: Any) -> str:
    return ",".join(f"{value:g}" for value in default) if isinstance(default, tuple) else f"{default:g}"


def _built(ctx: typer.Context, kind: Kind, texts: dict[str, Any]) -> Generator:
    """Build the generator from the given options."""
    from mead.config.solve_case import matrices_in
    from mead.keys import ConfigError, read_file
    from mead.workload import GeneratorError

    matrices: Path | None = texts.pop("matrices", None)
    if matrices is not None and (texts["D0"] is not None or texts["D1"] is not None):
        ctx.fail("--matrices sets both matrices; leave out --d0 and --d1")
    try:
        options = {name: None if text is None else kind.parameter(name).parse(text) for name, text in texts.items()}
        if matrices is not None:
            given = matrices_in(read_file(matrices))
            options |= {"D0": given.D0, "D1": given.D1}
        return kind.build(**options)
    except ConfigError as error:
        ctx.fail(f"{matrices}: {error}")
    except GeneratorError as error:
        ctx.fail(_with_flags(str(error), kind))


def _with_flags(message: str, kind: Kind) -> str:
    """Replace names of options by their command line flags."""
    for parameter in kind.parameters:
        if "_" in parameter.name:  # other names equal their flags
            message = re.sub(rf"\b{parameter.name}\b", parameter.flag, message)
    return message


def _write(
    ctx: typer.Context,
    generator: Generator,
    output: Path,
    *,
    seed: int,
    mean_delay: float,
    iat: bool,
    as_json: bool,
) -> None:
    import numpy as np

    from mead.workload import FORMATS, GeneratorError, TraceError, write_trace

    if iat and mean_delay > 0:
        ctx.fail("--iat cannot store the event times of delayed tuples; leave out --iat or --mean-delay")
    check_writable(ctx, output, tuple(FORMATS))
    rng = np.random.default_rng(seed)
    try:
        trace = generator.generate(rng)
        if mean_delay > 0:
            trace = trace.with_random_delays(mean_delay, rng)
        span_s, rate_per_s = trace.duration_s, trace.rate_per_s  # before writing, because a trace may have no rate
        write_trace(trace, output, iat=iat)
    except (GeneratorError, TraceError) as error:
        ctx.fail(str(error))
    if as_json:
        print_json({"path": str(output), "events": len(trace), "span_s": span_s, "rate_per_s": rate_per_s})
        return
    typer.echo(f"{output}: {len(trace):,} arrivals in {span_s:,.3f} s, {rate_per_s:,.1f}/s")
