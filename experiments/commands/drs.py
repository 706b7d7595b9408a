"""Commands ``drs-...``: the experiments of the DRS paper (Fu et al. 2017)."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from experiments.commands.options import Seeds, show_entries
from mead.cli.terminal import AsJson, Seed, collect


def fig6(*, seeds: Seeds = 5, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Fig. 6 of the DRS paper: the allocation that DRS advises beside five neighbours, mean and deviation.

    Example: `python -m experiments drs-fig6 --seeds 10`
    """
    from experiments.drs.fig6 import APPLICATIONS, compare_placements, fig6_parts

    comparisons = (compare_placements(application, range(seed, seed + seeds)) for application in APPLICATIONS)
    done = collect(comparisons, len(APPLICATIONS), lambda one: one.application.name)
    show_entries("drs-fig6", "applications", done, fig6_parts(done), as_json=as_json)


def fig7(*, seeds: Seeds = 5, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Fig. 7 of the DRS paper: how closely measured times follow those of the model, over six allocations.

    Example: `python -m experiments drs-fig7 --seeds 10`
    """
    from experiments.drs.fig6 import APPLICATIONS, compare_placements
    from experiments.drs.fig7 import Correlation, fig7_parts

    comparisons = (compare_placements(application, range(seed, seed + seeds)) for application in APPLICATIONS)
    done = collect(comparisons, len(APPLICATIONS), lambda one: one.application.name)
    found = [Correlation(one) for one in done]
    show_entries("drs-fig7", "applications", found, fig7_parts(found), as_json=as_json)


def demands(
    *,
    step: Annotated[float, typer.Option(min=0.001, metavar="SECONDS", help="step of the grid")] = 0.01,
    as_json: AsJson = False,
) -> None:
    """Search demands that lead to the published decisions of Figs. 6 and 9 of the DRS paper.

    Example: `python -m experiments drs-demands`
    """
    from experiments.drs.demands import demands_parts, search

    found = search(step)
    show_entries("drs-demands", "searches", [found], demands_parts(found), as_json=as_json)


def fig8(*, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Fig. 8 of the DRS paper: from a bad start to the best placement of 22 processors.

    Example: `python -m experiments drs-fig8 --seed 2`
    """
    from experiments.drs.fig8 import APPLICATIONS, fig8_parts, recoveries

    starts = sum(len(starts) for *_, starts in APPLICATIONS.values())
    done = collect(recoveries(seed), starts, lambda one: one.application)
    show_entries("drs-fig8", "runs", done, fig8_parts(done), as_json=as_json)


def fig9(
    *,
    seeds: Seeds = 3,
    seed: Seed = 1,
    t_min: Annotated[
        float | None, typer.Option(min=0.0, metavar="SECONDS", help="T_min; default one that fits the demands here.")
    ] = None,
    demands: Annotated[
        str, typer.Option(metavar="FIGURE", help="demands that fit the decisions of fig9 or fig6")
    ] = "fig9",
    downtime: Annotated[
        float, typer.Option(min=0.0, metavar="SECONDS", help="time for which a re-allocation stops everything")
    ] = 3.0,
    as_json: AsJson = False,
) -> None:
    """Fig. 9 of the DRS paper: reaction to 6, 12 and 18 frames per second, smoothed over 3 and 6 minutes.

    Example: `python -m experiments drs-fig9 --demands fig6 --downtime 0`
    """
    from experiments.drs.fig9 import PATTERNS, VIDEOS, WINDOWS, fig9_parts, reactions

    if demands not in VIDEOS:
        raise typer.BadParameter(f"choose from {', '.join(VIDEOS)}; got {demands!r}", param_hint="--demands")
    found = reactions(range(seed, seed + seeds), demands, t_min, downtime)
    done = collect(found, len(PATTERNS) * len(WINDOWS) * seeds, lambda one: one.pattern.name)
    show_entries("drs-fig9", "runs", done, fig9_parts(done), as_json=as_json)


def fig10(*, seeds: Seeds = 5, seed: Seed = 1, as_json: AsJson = False) -> None:
    """Fig. 10 of the DRS paper: where GI/G/k chooses better than M/M/k.

    Example: `python -m experiments drs-fig10`
    """
    from experiments.drs.fig10 import choices, fig10_parts

    done = list(choices(range(seed, seed + seeds)))
    show_entries("drs-fig10", "rates", done, fig10_parts(done), as_json=as_json)


def table2(*, as_json: AsJson = False) -> None:
    """Table II of the DRS paper: CPU time of a decision on this machine.

    Example: `python -m experiments drs-table2`
    """
    from time import process_time

    from experiments.drs.table2 import overheads, table2_parts

    done = overheads(process_time)
    show_entries("drs-table2", "rows", done, table2_parts(done), as_json=as_json)


def live(
    *,
    application: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="logos or patterns; may be repeated; default both")
    ] = None,
    duration: Annotated[float, typer.Option(min=20.0, metavar="SECONDS", help="of every run")] = 120.0,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="folder of the runs; default a temporary one")] = None,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Run DRS live on Spark with logo detection and frequent patterns; print what it decides and why.

    Example: `python -m experiments drs-live --application logos --duration 90`
    """
    from experiments.drs.live import APPLICATIONS, live_parts, show_application

    names = application or list(APPLICATIONS)
    if unknown := set(names) - APPLICATIONS.keys():
        raise typer.BadParameter(f"choose from {', '.join(APPLICATIONS)}; got {min(unknown)!r}")
    with TemporaryDirectory() as temporary:
        folder = out or Path(temporary)
        runs = (show_application(name, folder, duration, seed) for name in names)
        done = collect(runs, len(names), lambda one: one.name)
        show_entries("drs-live", "runs", done, live_parts(done), as_json=as_json)


def add_to(app: typer.Typer) -> None:
    """Add the experiments of the DRS paper."""
    for command in (fig6, fig7, fig8, fig9, demands, fig10, table2, live):
        app.command(f"drs-{command.__name__}")(command)
