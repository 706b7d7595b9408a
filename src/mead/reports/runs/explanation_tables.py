"""How a decision was made, as tables for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from mead.history import Decision, Effect
from mead.reports.runs.explanation import Explanation
from mead.reports.runs.history_report import described
from mead.reports.tables import NOTHING, TimeUnit, number, plain_table, plain_text

UNKNOWN = "What was weighed is not in the history: the policy compares no candidates, or the file is old."


def explanation_tables(this: Explanation) -> Iterator[Table | Text]:
    """What was decided, from what, against what, and what came of it."""
    yield _headline(this)
    if this.seen.operators:
        yield _observation(this)
    if this.grounds.models:
        yield plain_text("Believed:\n" + "\n".join(f"  {model}" for model in this.grounds.models))
    if this.grounds.caution > 1:
        said = f"Predictions were exceeded lately: bounds were taken {this.grounds.caution:.2g} times tighter."
        yield Text(said, style="yellow")
    if this.grounds.candidates:
        yield _candidates(this)
    elif this.decision.reason:
        yield Text(UNKNOWN)
    yield _effects(this)


def _headline(this: Explanation) -> Text:
    decision, run = this.decision, this.run
    where = f"run {run.number}, {run.name} under {run.policy}"
    said = described(decision) if decision.reason else Text("nothing is decided in mode observe")
    return plain_text(f"Round {decision.round} of {where}, at {round(decision.time_s, 1):.10g} s\n").append_text(said)


def _observation(this: Explanation) -> Table:
    seen, before = this.seen, this.decision.before
    interval_s = seen.interval_s or 0.0
    rate = "" if seen.rate_per_s is None else f": {number(seen.rate_per_s)} tuples/s came"
    title = f"Seen in {number(interval_s)} s{rate}"
    table = plain_table(title, "operator", "tuples/s", "waiting", "had cores", "busy")
    for name, reading in seen.operators.items():
        cores = None if before is None else before[name].cores
        busy = reading.busy_s / interval_s / cores if interval_s > 0 and cores else None
        table.add_row(
            plain_text(name),
            number(reading.arrived / interval_s) if interval_s > 0 else NOTHING,
            f"{reading.backlog:,}",
            NOTHING if before is None else str(before[name]),
            NOTHING if busy is None else f"{busy:.0%}",
        )
    return table


def _candidates(this: Explanation) -> Table:
    candidates = this.grounds.candidates
    shown = this.run.pipeline.requirements if any(one.response_s for one in candidates) else ()
    unit = TimeUnit.of(value_s for one in candidates for value_s in one.response_s if value_s is not None)
    of = f"; predicted in {unit.name}" if shown else ""
    headings = [plain_text(f"{r.statistic} of {r.path}\nrequired {unit.show(r.bound_s)}") for r in shown]
    table = plain_table(f"Weighed, the cheapest first{of}", "allocation", "cores", *headings, "")
    table.columns[-1].justify, table.columns[-1].no_wrap = "left", False
    for one in this.weighed:
        taken = one.verdict.startswith(("chosen", "wanted"))
        left = _left(one.margin) if taken else ""
        values_s = one.candidate.response_s if shown else ()
        table.add_row(
            plain_text(str(one.candidate.allocation)),
            f"{one.candidate.allocation.cores:.2f}",
            *("overloaded" if value_s is None else unit.show(value_s) for value_s in values_s),
            plain_text(one.verdict + left),
            style="bold" if taken else "",
        )
    return table


def _effects(this: Explanation) -> Table | Text:
    decision = this.decision
    if not decision.applied:
        return _meanwhile(decision)
    known = [value_s for effect in decision.effects for value_s in _means_s(effect) if value_s is not None]
    unit = TimeUnit.of(known)
    title = f"What came of it, mean response time in {unit.name}"
    table = plain_table(title, "path", "predicted", "observed", "times", "tuples")
    for effect in decision.effects:
        times = NOTHING if effect.times is None else number(effect.times)
        table.add_row(
            plain_text(effect.path),
            *(NOTHING if value_s is None else unit.show(value_s) for value_s in _means_s(effect)),
            Text(f"{times} (far off)", style="bold red") if effect.surprising else Text(times),
            f"{effect.completed:,}",
        )
    return table


def _meanwhile(decision: Decision) -> Table | Text:
    """For a plan that was not applied: no effect can be seen, but the model's prediction for what was in force can."""
    checked = {effect.path: effect.in_force for effect in decision.effects if effect.in_force.times is not None}
    if not checked:
        return Text("It was not applied, so that nothing followed from it.")
    values_s = [value_s for one in checked.values() for value_s in (one.predicted_mean_s, one.mean_s)]
    unit = TimeUnit.of(value_s for value_s in values_s if value_s is not None)
    title = f"It was not applied. Of what was in force, mean response time in {unit.name}"
    table = plain_table(title, "path", "predicted", "observed", "times")
    for path, one in checked.items():
        times_s = (one.predicted_mean_s or 0.0, one.mean_s or 0.0)  # what was checked has both
        table.add_row(plain_text(path), *map(unit.show, times_s), number(one.times or 0.0))
    return table


def _means_s(effect: Effect) -> tuple[float | None, float | None]:
    return None if effect.predicted is None else effect.predicted.mean_s, effect.mean_s


def _left(margin: float | None) -> str:
    if margin is None:
        return ""
    return f", {margin:.0%} of the bound to spare" if margin >= 0 else f", {-margin:.0%} beyond the bound"
