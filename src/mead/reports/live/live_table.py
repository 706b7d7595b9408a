"""The table of a run that is under way, as `mead run` and `mead top` show it."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text

from mead.keys import printable
from mead.reports.live.frame import Frame, OperatorFrame
from mead.reports.live.snapshot import Look
from mead.reports.tables import NOTHING, number, plain_table
from mead.values import Resources


def live_table(look: Look) -> Group:
    """Share, load and backlog of every operator, response against requirement, decision and its reason."""
    last = look.last
    if last is None:
        return Group(Text(f"{_headline(look)}: no round yet", style="bold"))
    return Group(_operators(look, last), _paths(look), _decision(look, last))


def _headline(look: Look) -> str:
    return printable(f"{look.pipeline} under {look.policy}, {look.mode}")


def _operators(look: Look, last: Frame) -> Table:
    title = f"{last.time_s:.0f} s: {_headline(look)}{', over' if look.finished else ''}"
    table = plain_table("", "operator", "share", "busy", "tuples/s", "waiting", "throttled")
    table.title = Text(title)  # a name is text, and no markup
    nothing = [NOTHING] * 4
    for name in look.operators:
        operator = last.operators.get(name)
        cells = nothing if operator is None else _readings(operator, last.interval_s)
        table.add_row(Text(printable(name)), NOTHING if operator is None else _share(operator), *cells)
    return table


def _share(operator: OperatorFrame) -> str:
    """What it has, and what it is to have if that differs: an order under way, or advice."""
    if operator.share is None or operator.replicas is None:
        return NOTHING
    held = Resources(operator.share, operator.replicas)
    if operator.planned_share is None or operator.planned_replicas is None:
        return str(held)
    planned = Resources(operator.planned_share, operator.planned_replicas)
    return str(held) if planned == held else f"{held} -> {planned}"


def _readings(operator: OperatorFrame, interval_s: float | None) -> list[str]:
    """Cores that were busy, the rate, the backlog, and cores that were held back."""
    busy = operator.busy_s / interval_s if operator.busy_s is not None and interval_s else None
    return [
        NOTHING if busy is None else f"{busy:.2f}",
        NOTHING if operator.rate_per_s is None else f"{operator.rate_per_s:,.0f}",
        NOTHING if operator.backlog is None else f"{operator.backlog:,}",
        NOTHING if operator.throttled is None else f"{operator.throttled:.2f}",
    ]


def _paths(look: Look) -> Table:
    rounds = f"last {len(look.frames)} round{'s' if len(look.frames) > 1 else ''}"
    table = plain_table("Response time in s", "path", rounds, "mean", "p95", "required")
    for path, found in look.paths.items():
        asked = [standing for standing in look.requirements if standing.path == path]
        late = any(standing.broken for standing in asked)
        required = ", ".join(f"{one.statistic} {one.bound_s:g}{' BROKEN' if one.broken else ''}" for one in asked)
        cells = [look.recent_s(path), found.mean_s, found.p95_s]
        table.add_row(
            Text(printable(path)),
            *(NOTHING if value is None else number(value) for value in cells),
            Text(printable(required) or NOTHING, style="bold red" if late else ""),
        )
    return table


def _decision(look: Look, last: Frame) -> Text:
    if last.error:
        return Text(printable(f"this round failed in {last.error}"), style="bold red")
    if look.mode == "observe":
        return Text("observing")
    return Text(printable(last.reason), overflow="fold")
