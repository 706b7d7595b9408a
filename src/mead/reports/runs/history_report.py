"""Past runs and their decisions, as tables for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from mead.history import Decision, Effect, PastRun
from mead.policies.steps import moved
from mead.reports.runs.decision_json import allocation_json, prediction_json
from mead.reports.tables import NOTHING, TimeUnit, plain_table, plain_text


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
        "because": decision.because.value,
        "missing": decision.missing,
        "error": decision.error,
        "caution": decision.caution,
        "paths": {effect.path: _effect_json(effect) for effect in decision.effects},
    }


def _effect_json(effect: Effect) -> dict[str, Any]:
    return {
        "predicted": None if effect.predicted is None else prediction_json(effect.predicted),
        "observed": {"mean_s": effect.mean_s, "completed": effect.completed, "late": effect.late},
        "times_predicted": effect.times,
        "surprising": effect.surprising,
        "in_force": {
            "predicted_mean_s": effect.in_force.predicted_mean_s,
            "observed_mean_s": effect.in_force.mean_s,
            "times_predicted": effect.in_force.times,
        },
    }


def runs_table(runs: Sequence[PastRun], model_errors: Sequence[Mapping[str, float]]) -> Table:
    """A line for every run, with what it was about below its name, and how far the models of its policy were off.

    That is by the worst of the paths that something is required of.
    """
    columns = ("pipeline", "policy", "rounds", "changes", "errors", "model", "lasted", "started")
    table = plain_table("Runs", "", *columns)
    pipeline, policy = table.columns[1:3]
    pipeline.justify, pipeline.no_wrap, policy.justify = "left", False, "left"
    for run, errors in zip(runs, model_errors, strict=True):
        mode = "" if run.mode == "act" else f", {run.mode}"
        table.add_row(
            str(run.number),
            plain_text(f"{run.name}\n{run.workload}" if run.workload else run.name),
            plain_text(f"{run.policy}{mode}"),
            f"{run.rounds:,}",
            f"{run.changes:,}",
            Text(f"{run.errors:,}", style="bold red" if run.errors else ""),
            _off(run, errors),
            f"{run.duration_s:,.0f} s{'' if run.finished else '...'}",
            plain_text(run.started.replace("T", " ")[:16]),
        )
    notes = ["model: observed over predicted mean response time, less 1"] if any(model_errors) else []
    if not all(run.finished for run in runs):
        notes.append("...: still running, or broken off")
    table.caption = "; ".join(notes) or None
    return table


def decision_tables(
    run: PastRun, decisions: Sequence[Decision], file: Path, *, changes_only: bool
) -> Iterator[Table | Text]:
    """When, what, why, and predicted beside observed response times of the paths that something is required of."""
    required = {requirement.path for requirement in run.pipeline.requirements} or set(run.pipeline.paths)
    shown = [[effect for effect in decision.effects if effect.path in required] for decision in decisions]
    times_s = [time_s for effects in shown for effect in effects for time_s in _times_s(effect) if time_s is not None]
    unit = TimeUnit.of(times_s)
    yield plain_text(f"Run {run.number}, {run.name} under {run.policy}, {run.engine}, started {run.started}")
    each = "change" if changes_only else "decision"
    table = plain_table(
        f"Mean response time in {unit.name}, until the next {each}",
        "round",
        *("time in s", "decision", "predicted", "observed"),
    )
    table.columns[0].justify = "right"
    table.columns[2].justify, table.columns[2].no_wrap, table.columns[2].ratio = "left", False, 1
    table.expand = True
    if len(required) > 1:
        table.add_column("path", no_wrap=True)
    for decision, effects in zip(decisions, shown, strict=True):
        cells = [Text("\n").join(_shown(e, i, unit) for e in effects) for i in (0, 1)]
        paths = [plain_text("\n".join(e.path for e in effects))] if len(required) > 1 else []
        table.add_row(f"{decision.round}", f"{round(decision.time_s, 1):,.10g}", described(decision), *cells, *paths)
    yield table
    if any(effect.surprising for effects in shown for effect in effects):
        explain = f"mead explain ROUND {file} --run {run.number}"
        yield plain_text(f"!: far from what was predicted. `{explain}` tells how a decision was made.")
    total = run.changes if changes_only else run.rounds
    if len(decisions) < total:
        yield Text(f"The last {len(decisions):,} of {total:,}; --limit shows more.")


def _times_s(effect: Effect) -> tuple[float | None, float | None]:
    return None if effect.predicted is None else effect.predicted.mean_s, effect.mean_s


def _shown(effect: Effect, place: int, unit: TimeUnit) -> Text:
    """Predicted, or observed; what is far from the prediction stands out."""
    time_s = _times_s(effect)[place]
    text = Text(NOTHING if time_s is None else unit.show(time_s))
    if place and effect.surprising:
        text.append(" !", style="bold red")
    return text


def _off(run: PastRun, errors: Mapping[str, float]) -> str:
    asked = {requirement.path for requirement in run.pipeline.requirements} or set(errors)
    found = [error for path, error in errors.items() if path in asked]
    return f"{max(found, key=abs):+.0%}" if found else NOTHING


def described(decision: Decision) -> Text:
    """What changed, and why; in red what went wrong."""
    change = "" if decision.before is None or decision.after is None else moved(decision.before, decision.after)
    text = plain_text(decision.reason if change in decision.reason else f"{change}: {decision.reason}")
    text.stylize("bold", 0, text.plain.find(change) + len(change))
    if decision.changed and not decision.applied:
        text.append(" (not applied)", style="red")
    if decision.error and decision.error not in decision.reason:
        text.append_text(plain_text(f"\n{decision.error}", style="red"))
    return text
