"""Past runs and their decisions, as tables for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from mead.evaluate.decision_json import allocation_json, prediction_json
from mead.evaluate.tables import NOTHING, TimeUnit, plain_table
from mead.knowledge.history.values import Decision, Effect, PastRun
from mead.plan.steps import moved


def run_json(run: PastRun) -> dict[str, Any]:
    """What is known of a run."""
    return {
        "run": run.number,
        "name": run.name,
        "policy": run.policy,
        "options": dict(run.options),
        "engine": run.engine,
        "mode": run.mode,
        "workload": run.workload,
        "started": run.started,
        "finished": run.finished,
        "duration_s": run.duration_s,
        "rounds": run.rounds,
        "changes": run.changes,
        "errors": run.errors,
    }


def decision_json(decision: Decision) -> dict[str, Any]:
    """What was decided, why, and what followed."""
    return {
        "round": decision.round,
        "time_s": decision.time_s,
        "before": None if decision.before is None else allocation_json(decision.before),
        "after": None if decision.after is None else allocation_json(decision.after),
        "target": None if decision.target is None else allocation_json(decision.target),
        "changed": decision.changed,
        "applied": decision.applied,
        "reason": decision.reason,
        "missing": decision.missing,
        "error": decision.error,
        "paths": {effect.path: _effect_json(effect) for effect in decision.effects},
    }


def _effect_json(effect: Effect) -> dict[str, Any]:
    return {
        "predicted": None if effect.predicted is None else prediction_json(effect.predicted),
        "observed": {"mean_s": effect.mean_s, "completed": effect.completed, "late": effect.late},
    }


def runs_table(runs: Sequence[PastRun]) -> Table:
    """A line for every run, with what it was about below its name."""
    table = plain_table("Runs", "", "pipeline", "policy", "rounds", "changes", "errors", "lasted", "started")
    pipeline, policy = table.columns[1:3]
    pipeline.justify, pipeline.no_wrap, policy.justify = "left", False, "left"
    for run in runs:
        mode = "" if run.mode == "act" else f", {run.mode}"
        table.add_row(
            str(run.number),
            Text(f"{run.name}\n{run.workload}" if run.workload else run.name),
            Text(f"{run.policy}{mode}"),
            f"{run.rounds:,}",
            f"{run.changes:,}",
            Text(f"{run.errors:,}", style="bold red" if run.errors else ""),
            f"{run.duration_s:,.0f} s{'' if run.finished else '...'}",
            Text(run.started.replace("T", " ")[:16]),
        )
    if not all(run.finished for run in runs):
        table.caption = "...: still running, or broken off"
    return table


def decision_tables(run: PastRun, decisions: Sequence[Decision], *, changes_only: bool) -> Iterator[Table | Text]:
    """When, what, why, and predicted beside observed response times of the paths that something is required of."""
    required = {requirement.path for requirement in run.pipeline.requirements} or set(run.pipeline.paths)
    shown = [[effect for effect in decision.effects if effect.path in required] for decision in decisions]
    times_s = [time_s for effects in shown for effect in effects for time_s in _times_s(effect) if time_s is not None]
    unit = TimeUnit.of(times_s)
    yield Text(f"Run {run.number}, {run.name} under {run.policy}, {run.engine}, started {run.started}")
    each = "change" if changes_only else "decision"
    table = plain_table(
        f"Mean response time in {unit.name}, until the next {each}", "time in s", "decision", "predicted", "observed"
    )
    table.columns[0].justify = "right"
    table.columns[1].justify, table.columns[1].no_wrap, table.columns[1].ratio = "left", False, 1
    table.expand = True
    if len(required) > 1:
        table.add_column("path", no_wrap=True)
    for decision, effects in zip(decisions, shown, strict=True):
        cells = ["\n".join(_shown(_times_s(e)[i], unit) for e in effects) for i in (0, 1)]
        paths = [Text("\n".join(e.path for e in effects))] if len(required) > 1 else []
        table.add_row(f"{decision.time_s:,.10g}", _described(decision), *cells, *paths)
    yield table
    total = run.changes if changes_only else run.rounds
    if len(decisions) < total:
        yield Text(f"The last {len(decisions):,} of {total:,}; --limit shows more.")


def _times_s(effect: Effect) -> tuple[float | None, float | None]:
    return None if effect.predicted is None else effect.predicted.mean_s, effect.mean_s


def _shown(time_s: float | None, unit: TimeUnit) -> str:
    return NOTHING if time_s is None else unit.show(time_s)


def _described(decision: Decision) -> Text:
    """What changed, and why; in red what went wrong."""
    change = "" if decision.before is None or decision.after is None else moved(decision.before, decision.after)
    text = Text(decision.reason if change in decision.reason else f"{change}: {decision.reason}")
    text.stylize("bold", 0, text.plain.find(change) + len(change))
    if decision.changed and not decision.applied:
        text.append(" (not applied)", style="red")
    if decision.error and decision.error not in decision.reason:
        text.append(f"\n{decision.error}", style="red")
    return text
