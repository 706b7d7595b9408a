"""Commands ``arena`` and ``hybrid``: rank all policies; change share and replicas together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.commands.options import Jobs, Seeds, show
from mead.cli.inputs import read_trace_or_fail
from mead.cli.terminal import AsJson, Seed, print_json, print_parts, progress_bar

if TYPE_CHECKING:
    from experiments.arena.contest import Contest

RECORDED = ("bc", "logs")
"""Recorded workloads, which run only if their files are given."""

UNSEEN_SEED = 11
"""The first default seed. `hybrid` was tuned on the seeds 1 to 3."""

Duration = Annotated[float, typer.Option(min=60.0, metavar="SECONDS", help="Length of every workload.")]
ReplicasDelay = Annotated[
    float, typer.Option(min=0.0, metavar="SECONDS", help="Time until a new replica takes effect.")
]


def add_to(app: typer.Typer) -> None:
    """Add the arena and the two loads of `hybrid`."""
    app.command("arena")(arena)
    app.command("hybrid")(hybrid)


def arena(
    ctx: typer.Context,
    *,
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[@KEY=VALUE]", help="Run only this policy, such as `hybrid`; may be repeated."),
    ] = None,
    workload: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Run only this workload, such as `synt`; may be repeated.")
    ] = None,
    requirement: Annotated[
        list[str] | None,
        typer.Option(
            metavar="mean=S|p95=S", help="Bound in seconds, in place of mean=0.3, p95=0.5 and p99=1; may be repeated."
        ),
    ] = None,
    trace: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="Recorded arrivals: `bc` the Bellcore trace, `logs` the PA-SPS log rates (CSV, a `value` per second).",
        ),
    ] = None,
    seeds: Seeds = 2,
    seed: Seed = UNSEEN_SEED,
    duration: Duration = 600.0,
    jobs: Jobs = 2,
    replicas_delay: ReplicasDelay = 2.0,
    bounds: Annotated[
        bool, typer.Option("--bounds/--no-bounds", help="Find the bound of every workload, requirement and seed.")
    ] = True,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write a page (HTML) and a table (CSV) there.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Rank all policies on all workloads, by requirements met and cores.

    Every policy controls a matcher of one to four replicas at shares of 0.4 to 1.0. A share takes effect at once, a
    replica after two seconds. Policies that meet nearly all requirements are ranked by cores.

    Example: `python -m experiments arena --workload synt --workload walk --policy hybrid --policy drs --seeds 1`
    """
    from experiments.arena.board import board, by_workload
    from experiments.arena.contest import REQUIREMENTS, Bound, Score, bouts, contenders, requirement_text, run_bouts
    from experiments.arena.page import arena_page
    from experiments.arena.report import NOTE, arena_tables, write_csv
    from experiments.comparison import PolicyContender, each
    from experiments.workloads import required

    try:
        policies = [PolicyContender.of(text) for text in dict.fromkeys(policy or contenders())]
        asked = list(dict.fromkeys(required(text) for text in requirement or ())) or list(REQUIREMENTS)
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
    except ValueError as error:
        ctx.fail(str(error))
    except OSError as error:
        ctx.fail(f"{out}: cannot be made ({error.strerror or error})")
    contests = _contests(ctx, trace, workload, duration)
    drawn = range(seed, seed + seeds)
    to_run = bouts(contests, policies, asked, drawn, replicas_delay)
    to_bound = [Bound(contest, one, of) for contest in contests for one in asked for of in drawn] if bounds else []
    scores: list[Score] = []
    with progress_bar(len(to_run) + len(to_bound)) as tell:
        for done, (bout, lines) in enumerate(zip(to_run, run_bouts(to_run, jobs), strict=True), start=1):
            scores += lines
            tell(f"{bout.contest.name} {bout.policy.label}", done)
        cores = {}
        for done, (bound, found) in enumerate(zip(to_bound, each(Bound.cores, to_bound, jobs), strict=True), start=1):
            cores[bound.contest.name, requirement_text(bound.requirement), bound.seed] = found
            tell(f"{bound.contest.name} bound", len(to_run) + done)
    standings, workloads = board(scores, cores), by_workload(scores, cores)
    written = []
    if out is not None:
        written = [out / "arena.csv", out / "arena.html"]
        write_csv(scores, written[0])
        said = f"{seeds} seeds, {duration:g} s each, replicas after {replicas_delay:g} s."
        written[1].write_text(
            arena_page(standings, workloads, cores, [said, *(each.workload.title for each in contests)])
        )
    document = {
        "experiment": "arena",
        "board": [one.as_json() for one in standings],
        "workloads": {one.workload: [each.as_json() for each in one.standings] for one in workloads},
        "bounds": [
            {"workload": name, "requirement": text, "seed": drawn_seed, "cores": found}
            for (name, text, drawn_seed), found in cores.items()
        ],
    }
    show(document, [*arena_tables(standings, workloads, cores), NOTE], written, as_json=as_json)


def hybrid(
    ctx: typer.Context,
    *,
    requirement: Annotated[str, typer.Option(metavar="mean=S|p95=S", help="In seconds.")] = "p95=0.5",
    seeds: Seeds = 1,
    seed: Seed = 1,
    duration: Duration = 1800.0,
    jobs: Jobs = 2,
    replicas_delay: ReplicasDelay = 0.0,
    as_json: AsJson = False,
) -> None:
    """Change share and replicas together, on a load above one replica and on a load far below one core.

    Example: `python -m experiments hybrid --replicas-delay 5`
    """
    from dataclasses import asdict

    from experiments.arena.contest import Score, run_bouts
    from experiments.arena.hybrid_loads import load_bouts, load_tables
    from experiments.workloads import required

    try:
        to_run = load_bouts(required(requirement), range(seed, seed + seeds), duration, replicas_delay)
    except ValueError as error:
        ctx.fail(str(error))
    scores: list[Score] = []
    with progress_bar(len(to_run)) as tell:
        for done, (bout, lines) in enumerate(zip(to_run, run_bouts(to_run, jobs), strict=True), start=1):
            scores += lines
            tell(f"{bout.contest.name} {bout.policy.label}", done)
    if as_json:
        print_json({"experiment": "hybrid", "runs": [asdict(one) for one in scores]})
        return
    print_parts(load_tables(scores, duration))


def _contests(
    ctx: typer.Context, traces: list[str] | None, wanted: list[str] | None, duration_s: float
) -> list[Contest]:
    """The chosen workloads. Names a missing one on standard error."""
    from experiments.arena.contest import contests

    files: dict[str, Path] = {}
    for text in traces or ():
        name, _, path = text.partition("=")
        if name not in RECORDED or not path:
            ctx.fail(f"--trace {text}: write it as bc=FILE or logs=FILE")
        files[name] = Path(path)
    bellcore = None
    if "bc" in files:
        bellcore = read_trace_or_fail(ctx, files["bc"], iat=False, column=None, unit=None, sort=False)
    try:
        every, missing = contests(bellcore, files.get("logs"), duration_s)
    except ValueError as error:
        ctx.fail(str(error))
    known = {one.name: one for one in every}
    for name in wanted or ():
        if name in RECORDED and name not in known:
            ctx.fail(f"the workload {name} is recorded and not part of this program: give --trace {name}=FILE")
        if name not in known:
            ctx.fail(f"there is no workload {name!r}; there are {', '.join(known)}")
    if missing and not wanted:
        typer.echo(f"{ctx.command_path}: {missing}", err=True)
    return [known[name] for name in dict.fromkeys(wanted or known)]
