"""The table that a live run shows while it runs."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text

from mead.evaluate.tables import NOTHING, number, plain_table
from mead.knowledge.pipeline import Pipeline
from mead.knowledge.round import Round
from mead.spark.engine import SparkEngine

RECENT = 30
"""Rounds over which a response time is shown: those of one second alone jump about."""


class LiveTable:
    """Rate, response against requirement, share of every operator, decision and its reason."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.rounds: list[Round] = []

    def add(self, this: Round, engine: SparkEngine) -> Group:
        """The table after another round."""
        self.rounds = [*self.rounds[1 - RECENT :], this]
        return Group(self._operators(this), self._paths(engine), self._decision(this))

    def _operators(self, this: Round) -> Table:
        table = plain_table(f"{this.time_s:6.0f} s", "operator", "share", "busy", "tuples/s", "waiting", "throttled")
        seen = this.observation
        for operator in self.pipeline.operators:
            reading = seen.operators.get(operator.name) if seen else None
            held = this.in_force[operator.name] if this.in_force else None
            if reading is None or seen is None or seen.interval_s <= 0:
                table.add_row(operator.name, str(held or NOTHING))
                continue
            table.add_row(
                operator.name,
                str(held or NOTHING),
                f"{reading.busy_s / seen.interval_s:.2f}",
                f"{reading.arrived / seen.interval_s:,.0f}",
                f"{reading.backlog:,}",
                f"{reading.throttled_s / seen.interval_s:.2f}",
            )
        return table

    def _paths(self, engine: SparkEngine) -> Table:
        table = plain_table("Response time in s", "path", f"last {len(self.rounds)} rounds", "mean", "p95", "required")
        for path, monitor in engine.paths.items():
            recent = [r.observation.paths[path] for r in self.rounds if r.observation and path in r.observation.paths]
            completed = sum(reading.completed for reading in recent)
            recent_s = sum(reading.response_sum_s for reading in recent) / completed if completed else None
            required = ", ".join(f"{r.statistic} {r.bound_s:g}" for r in monitor.requirements)
            means_s = [r.bound_s for r in monitor.requirements if r.percent is None]
            late = recent_s is not None and recent_s > min(means_s, default=recent_s)
            shown = [recent_s, monitor.whole.mean_s, monitor.whole.percentile_s(95)]
            cells = [NOTHING if value is None else number(value) for value in shown]
            table.add_row(path, Text(cells[0], style="bold red" if late else ""), *cells[1:], required or NOTHING)
        return table

    def _decision(self, this: Round) -> Text:
        if this.error:
            return Text(f"this round failed in {this.error}", style="bold red")
        return Text(this.plan.reason if this.plan else "observing", overflow="fold")
