"""The table of a running query, as `mead run` and `mead top` show it."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text

from mead.keys import printable
from mead.reports.frames import Frame, OperatorFrame
from mead.reports.live.snapshot import Snapshot
from mead.reports.tables import NOTHING, number, plain_table
from mead.values import Resources


def snapshot_table(snapshot: Snapshot) -> Group:
    """Operators with share, load and backlog; response times and requirements; the last decision."""
    last = snapshot.last
    if last is None:
        return Group(Text(f"{_headline(snapshot)}: no round yet", style="bold"))
    return Group(_operators(snapshot, last), _paths(snapshot), _decision(snapshot, last))


def _headline(snapshot: Snapshot) -> str:
    return printable(f"{snapshot.pipeline} under {snapshot.policy}, {snapshot.mode}")


def _operators(snapshot: Snapshot, last: Frame) -> Table:
    title = f"{last.time_s:.0f} s: {_headline(snapshot)}{', over' if snapshot.finished else ''}"
    table = plain_table("", "operator", "share", "busy", "tuples/s", "waiting", "throttled")
    table.title = Text(title)  # rich would read a plain string as markup
    nothing = [NOTHING] * 4
    for name in snapshot.operators:
        operator = last.operators.get(name)
        cells = nothing if operator is None else _readings(operator, last.interval_s)
        table.add_row(Text(printable(name)), NOTHING if operator is None else _share(operator), *cells)
    return table


def _share(operator: OperatorFrame) -> str:
    """The share in force, and the planned one if it differs."""
    if operator.share is None or operator.replicas is None:
        return NOTHING
    held = Resources(operator.share, operator.replicas)
    if operator.planned_share is None or operator.planned_replicas is None:
        return str(held)
    planned = Resources(operator.planned_share, operator.planned_replicas)
    return str(held) if planned == held else f"{held} -> {planned}"


def _readings(operator: OperatorFrame, interval_s: float | None) -> list[str]:
    """Busy cores, rate, backlog and throttled cores."""
    busy = operator.busy_s / interval_s if operator.busy_s is not None and interval_s else None
    return [
        NOTHING if busy is None else f"{busy:.2f}",
        NOTHING if operator.rate_per_s is None else f"{operator.rate_per_s:,.0f}",
        NOTHING if operator.backlog is None else f"{operator.backlog:,}",
        NOTHING if operator.throttled is None else f"{operator.throttled:.2f}",
    ]


def _paths(snapshot: Snapshot) -> Table:
    rounds = f"last {len(snapshot.frames)} round{'s' if len(snapshot.frames) > 1 else ''}"
    table = plain_table("Response time in s", "path", rounds, "mean", "p95", "required")
    for path, found in snapshot.paths.items():
        asked = [standing for standing in snapshot.requirements if standing.path == path]
        late = any(standing.broken for standing in asked)
        required = ", ".join(f"{one.statistic} {one.bound_s:g}{' BROKEN' if one.broken else ''}" for one in asked)
        cells = [snapshot.recent_s(path), found.mean_s, found.p95_s]
        table.add_row(
            Text(printable(path)),
            *(NOTHING if value is None else number(value) for value in cells),
            Text(printable(required) or NOTHING, style="bold red" if late else ""),
        )
    return table


def _decision(snapshot: Snapshot, last: Frame) -> Text:
    if last.error:
        return Text(printable(f"this round failed in {last.error}"), style="bold red")
    if snapshot.mode == "observe":
        return Text("observing")
    return Text(printable(last.reason), overflow="fold")
