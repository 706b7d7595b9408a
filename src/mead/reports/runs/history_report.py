"""Tables of past runs and their decisions, and the model error of each policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from mead.history import Checked, Decision, Effect, PastRun
from mead.reports.tables import NOTHING, OBSERVED_ONLY, TimeUnit, plain_table, plain_text
from mead.values import Move


def runs_table(runs: Sequence[PastRun], model_errors: Sequence[Mapping[str, float]]) -> Table:
    """A row for every run, with its workload and its model error.

    The error is the worst one of the paths with a requirement.
    """
    columns = ("pipeline", "policy", "rounds", "changes", "errors", "model", "lasted", "started")
    table = plain_table("Runs", "", *columns)
    pipeline, policy = table.columns[1:3]
    pipeline.justify = policy.justify = "left"
    for run, errors in zip(runs, model_errors, strict=True):
        mode = "" if run.mode == "act" else f", {run.mode}"
        table.add_row(
            str(run.number),
            plain_text(f"{run.name}\n{run.workload}" if run.workload else run.name),
            plain_text(f"{run.policy}{mode}"),
            f"{run.rounds:,}",
            f"{run.changes:,}",
            Text(f"{run.errors:,}", style="bold red" if run.errors else ""),
            _model_error_cell(run, errors),
            f"{run.duration_s:,.0f} s{'' if run.finished else '...'}",
            plain_text(run.started.replace("T", " ")[:16]),
        )
    notes = ["model: observed over predicted mean response time, less 1"] if any(model_errors) else []
    if not all(run.finished for run in runs):
        notes.append("...: still running, or interrupted")
    table.caption = "; ".join(notes) or None
    return table


def decision_tables(
    run: PastRun, decisions: Sequence[Decision], file: Path, *, changes_only: bool
) -> Iterator[Table | Text]:
    """Decisions with time and reason, and predicted and observed response times.

    Paths with a requirement are shown.
    """
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
    table.columns[2].justify, table.columns[2].ratio = "left", 1
    table.expand = True
    if len(required) > 1:
        table.add_column("path", no_wrap=True)
    for decision, effects in zip(decisions, shown, strict=True):
        cells = [Text("\n").join(_time_cell(e, i, unit) for e in effects) for i in (0, 1)]
        paths = [plain_text("\n".join(e.path for e in effects))] if len(required) > 1 else []
        table.add_row(f"{decision.round}", f"{round(decision.time_s, 1):,.10g}", describe(decision), *cells, *paths)
    yield table
    if any(effect.surprising for effects in shown for effect in effects):
        explain = f"mead explain ROUND {file} --run {run.number}"
        yield plain_text(f"!: far from the prediction. `{explain}` explains a decision.")
    total = run.changes if changes_only else run.rounds
    count = sum(decision.changes if changes_only else decision.rounds for decision in decisions)
    if count < total:
        yield Text(f"The last {count:,} of {total:,}; --limit shows more.")


def _times_s(effect: Effect) -> tuple[float | None, float | None]:
    return None if effect.predicted is None else effect.predicted.mean_s, effect.mean_s


def _time_cell(effect: Effect, place: int, unit: TimeUnit) -> Text:
    """The predicted (0) or observed (1) time; an observed time far from the prediction is marked."""
    time_s = _times_s(effect)[place]
    text = Text(NOTHING if time_s is None else unit.show(time_s))
    if place and effect.surprising:
        text.append(" !", style="bold red")
    return text


def _model_error_cell(run: PastRun, errors: Mapping[str, float]) -> str:
    asked = {requirement.path for requirement in run.pipeline.requirements} or set(errors)
    found = [error for path, error in errors.items() if path in asked]
    return f"{max(found, key=abs):+.0%}" if found else NOTHING


def describe(decision: Decision) -> Text:
    """The change and its reason; errors in red."""
    change = ""
    if decision.before is not None and decision.after is not None and decision.before != decision.after:
        change = str(Move(decision.before, decision.after))
    planned = decision.changed and decision.applied  # the reason of a plan begins with its change
    reason = decision.reason or ("" if decision.error else OBSERVED_ONLY)
    text = plain_text(reason if planned or not change else f"{change}. {reason}")
    text.stylize("bold", 0, len(change))
    if decision.changed and not decision.applied:
        text.append(" (not applied)", style="red")
    if decision.changes > 1:
        more = decision.changes - 1
        text.append(f" (and {more} more change{'s' if more > 1 else ''} in this half-minute)")
    if decision.error:
        times = f" (the last of {decision.rounds} failures in this half-minute)" if decision.rounds > 1 else ""
        text.append_text(plain_text(f"\n{decision.error}{times}", style="red"))
    return text


@dataclass(frozen=True)
class PolicyError:
    """The model error of one policy over all its runs. Every tuple counts alike."""

    policy: str
    runs: int
    """Number of runs in which its predictions could be checked."""
    by_path: Mapping[tuple[str, str], float]
    """Observed over predicted mean response time, less 1, by pipeline name and path."""

    def __str__(self) -> str:
        runs = f"{self.runs} run{'' if self.runs == 1 else 's'}"
        errors = (f"{name}, {path}: {error:+.0%}" for (name, path), error in self.by_path.items())
        return f"{self.policy}, {runs}: {'; '.join(errors)}"

    def as_json(self) -> dict[str, Any]:
        """As a document for scripts."""
        errors: dict[str, dict[str, float]] = {}
        for (name, path), error in self.by_path.items():
            errors.setdefault(name, {})[path] = error
        return {"policy": self.policy, "runs": self.runs, "model_error": errors}


def policy_errors(runs: Sequence[PastRun], checked: Sequence[Mapping[str, Checked]]) -> list[PolicyError]:
    """The errors of every policy whose predictions could be checked, in the order of their first runs.

    Only paths with a requirement count.
    """
    sums: dict[str, dict[tuple[str, str], Checked]] = {}
    numbers: dict[str, set[int]] = {}
    for run, of_paths in zip(runs, checked, strict=True):
        asked = {requirement.path for requirement in run.pipeline.requirements} or set(of_paths)
        for path in asked & {path for path, one in of_paths.items() if one.error is not None}:
            mine, key = sums.setdefault(run.policy, {}), (run.name, path)
            mine[key] = mine.get(key, Checked(0.0, 0.0)) + of_paths[path]
            numbers.setdefault(run.policy, set()).add(run.number)
    return [
        PolicyError(policy, len(numbers[policy]), {key: mine[key].error or 0.0 for key in sorted(mine)})
        for policy, mine in sums.items()
    ]
