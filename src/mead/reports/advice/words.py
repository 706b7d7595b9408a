"""Advice in words, in tables and as a JSON document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.table import Table
from rich.text import Text

from mead.reports.advice.advice import BURSTY, Advice, QueryAdvice, SizePrediction
from mead.reports.tables import NOTHING, number, percent_or_nothing, plain_table, plain_text, yes_or_no

PARTS = {
    "wait": "waiting for the next micro-batch",
    "backlog": "held back behind a backlog",
    "planning": "planning, before the tasks",
    "work": "work of the tasks",
    "commit": "commit, until the output can be read",
}
"""Parts of a response time, in their order."""


def sentences(advice: Advice) -> Iterator[str]:
    """The advice as sentences: for each query what was seen, what to do, and how sure that is."""
    for query in advice.queries:
        yield f"{query.record.name}: {_seen(query)}"
        yield f"{query.record.name}: {_demand(query)}"
        yield f"{query.record.name}: {_advised(advice, query)}"
        yield f"{query.record.name}: {_how_sure(query)}"
        yield from (f"{query.record.name}: {note}" for note in query.record.notes)
    if len(advice.queries) > 1:
        yield _together(advice)
    yield from advice.skipped


def _seen(query: QueryAdvice) -> str:
    arrivals, seen, dispersion = query.record.arrivals, query.seen, query.dispersion
    bursty = "" if dispersion is None else f", {'bursty' if dispersion > BURSTY else 'steady'} ({number(dispersion)})"
    required = query.requirement
    value_s = seen.mean_s if required.percent is None else seen.percentiles_s[required.percent]
    met = "met" if value_s <= required.bound_s else "broken"
    return (
        f"{number(arrivals.rate_per_s)} rows/s{bursty}, {query.batches} micro-batches in {arrivals.lasted_s:.0f} s. "
        f"Mean {number(seen.mean_s)} s, p95 {number(seen.percentiles_s[95.0])} s; "
        f"{required.statistic} <= {required.bound_s:g} s was {met}."
    )


def _demand(query: QueryAdvice) -> str:
    record, now = query.record, query.at_now
    rows = max(record.rows, 1)
    known = []
    if record.run_s > 0:
        known.append(f"{number(1e3 * record.run_s / rows)} ms of task time a row")
        python = ", without that of its Python workers, which Spark does not record" if record.in_python else ""
        known.append(f"{number(1e3 * record.cpu_s / rows)} ms of it CPU time{python}")
    if now.overhead_s is not None:
        known.append(f"{number(now.overhead_s)} s a micro-batch besides")
    if record.wasted_s > 0:
        known.append(f"{number(record.wasted_s)} s lost in failed and repeated tasks")
    pace = "no trigger" if record.trigger_s is None else f"a trigger of {record.trigger_s:g} s"
    return f"{'; '.join(known) or 'no task times are known'}; {pace}."


def _advised(advice: Advice, query: QueryAdvice) -> str:
    required, chosen, at_load = query.requirement, query.cheapest, ""
    if query.load != 1.0:
        at_load = f" at {query.load:g} times the load"
    if chosen is None:
        best = min((p for p in query.predictions if p.statistic_s is not None), key=_statistic_s, default=None)
        if best is None:
            return f"No size up to {_sized(query, query.predictions[-1])} keeps up{at_load}."
        return (
            f"No size up to {_sized(query, query.predictions[-1])} meets {required.statistic} <= {required.bound_s:g} s"
            f"{at_load}: {_sized(query, best)} come closest with {number(_statistic_s(best))} s. "
            f"{_obstacle(query, best)}"
        )
    spread = "" if chosen.low_s is None else f" ({number(chosen.low_s)} to {number(chosen.high_s or 0.0)} s)"
    cost, before = advice.per_month(chosen.cores), advice.per_month(query.at_now.cores)
    money = "" if cost is None else f", {cost:,.2f} a month"
    if chosen.size == query.now:
        order = f"Keep {_sized(query, chosen)}"
    else:
        order = f"Take {_sized(query, chosen)} instead of {_sized(query, query.at_now)}"
        money += "" if before is None else f" instead of {before:,.2f}"
    safer = ""
    if query.safe is not None and query.safe.size != chosen.size:
        safer = f" To be on the safe side, take {_sized(query, query.safe)}."
    elif query.safe is None:
        safer = " At the upper end of its spread, no size meets the bound."
    return (
        f"{order}{at_load}: {required.statistic} "
        f"{number(_statistic_s(chosen))} s{spread} of {required.bound_s:g} s{money}.{safer}"
    )


def _obstacle(query: QueryAdvice, best: SizePrediction) -> str:
    """Say what keeps response times long at any size."""
    overhead_s, trigger_s = best.overhead_s or 0.0, query.record.trigger_s or 0.0
    if trigger_s > query.requirement.bound_s / 2:
        return f"The trigger of {trigger_s:g} s is too long."
    if overhead_s > query.requirement.bound_s / 3:
        return f"A micro-batch takes {number(overhead_s)} s besides its rows, at any size."
    return "More partitions would let more tasks run at the same time."


def _how_sure(query: QueryAdvice) -> str:
    parts = []
    if query.model_error is not None:
        mean = number(query.at_now.mean_s or 0.0)
        parts.append(f"for the recorded size the model says {mean} s in the mean ({query.model_error:+.0%})")
    if not query.record.stamped:
        parts.append(
            "rows have no stamps and count as evenly spread between micro-batches, "
            f"so the mean may be off by {number(query.arrival_error_s)} s at most"
        )
    sure = "Fairly sure" if not query.doubts else "Unsure"
    return f"{sure}: {'; '.join([*query.doubts, *parts])}."


def _together(advice: Advice) -> str:
    unit = _unit(advice.queries[0])
    if advice.size is None:
        return f"The {len(advice.queries)} queries share the application's {unit}; not all of them meet their bound."
    return f"The {len(advice.queries)} queries share the application's {unit}: {advice.size} meet all bounds."


def _unit(query: QueryAdvice) -> str:
    return "cores" if query.record.executor_cores is None else "executors"


def _sized(query: QueryAdvice, prediction: SizePrediction) -> str:
    size, each = prediction.size, query.record.executor_cores
    if each is None:
        return f"{size} core{'s' * (size != 1)}"
    return f"{size} executor{'s' * (size != 1)} of {each} core{'s' * (each != 1)}"


def _statistic_s(prediction: SizePrediction) -> float:
    return prediction.statistic_s or 0.0


def tables(advice: Advice) -> Iterator[Table | Text]:
    """Tables and sentences for a terminal."""
    for query in advice.queries:
        yield _latency_table(query)
        yield _size_table(advice, query)
    yield plain_text("\n".join(sentences(advice)))


def _latency_table(query: QueryAdvice) -> Table:
    seen = query.seen
    title = f"{query.record.name}: response time {number(seen.mean_s)} s in the mean, " + ", ".join(
        f"p{percent:g} {number(value_s)} s" for percent, value_s in seen.percentiles_s.items()
    )
    table = plain_table(plain_text(title).plain, "of which", "mean in s", "part")
    for key, words in PARTS.items():
        value_s = getattr(seen, f"{key}_s")
        table.add_row(words, number(value_s), f"{value_s / seen.mean_s:.0%}" if seen.mean_s > 0 else NOTHING)
    return table


def _size_table(advice: Advice, query: QueryAdvice) -> Table:
    required, unit = query.requirement, _unit(query)
    own = [] if required.percent in {None, 95.0} else [required.statistic]
    priced = ["a month"] * (advice.price is not None)
    title = f"{query.record.name}: predicted response times in s, {required.statistic} <= {required.bound_s:g} s"
    headings = ("load", "mean", "p95", *own, "spread", "met", *priced)
    table = plain_table(plain_text(title).plain, unit, *headings)
    for p in query.predictions:
        mark = " (recorded)" if p.size == query.now else ""
        table.add_row(
            f"{p.size}{mark}",
            percent_or_nothing(p.utilization),
            *[NOTHING if value is None else number(value) for value in (p.mean_s, p.p95_s)],
            *[NOTHING if p.statistic_s is None else number(p.statistic_s) for _ in own],
            NOTHING if p.low_s is None else f"{number(p.low_s)}-{number(p.high_s or 0.0)}",
            yes_or_no(met=p.meets(required)),
            *[f"{advice.per_month(p.cores) or 0.0:,.2f}" for _ in priced],
        )
    return table


def as_json(advice: Advice, notes: tuple[str, ...] = ()) -> dict[str, Any]:
    """The document of `mead advise --json`."""
    return {
        "application": advice.application,
        "price_per_core_hour": advice.price,
        "size": advice.size,
        "queries": [_query_json(advice, query) for query in advice.queries],
        "skipped": list(advice.skipped),
        "notes": list(notes),
    }


def _query_json(advice: Advice, query: QueryAdvice) -> dict[str, Any]:
    record, seen, rows = query.record, query.seen, max(query.record.rows, 1)
    return {
        "name": record.name,
        "requirement": str(query.requirement),
        "load": query.load,
        "micro_batches": query.batches,
        "duration_s": record.arrivals.lasted_s,
        "rate_per_s": record.arrivals.rate_per_s,
        "dispersion": query.dispersion,
        "trigger_s": record.trigger_s,
        "max_rows": record.max_rows,
        "slot_s_per_row": record.run_s / rows,
        "cpu_s_per_row": record.cpu_s / rows,
        "in_python": record.in_python,
        "wasted_s": record.wasted_s,
        "other_slots": record.others_slots,
        "latency": {
            "mean_s": seen.mean_s,
            "percentiles_s": {f"{percent:g}": value_s for percent, value_s in seen.percentiles_s.items()},
            "parts_s": {key: getattr(seen, f"{key}_s") for key in PARTS},
            "estimated": not record.stamped,
            "error_s": 0.0 if record.stamped else query.arrival_error_s,
        },
        "unit": _unit(query),
        "executor_cores": record.executor_cores,
        "recorded": query.now,
        "sizes": [_size_json(advice, query, p) for p in query.predictions],
        "cheapest": None if query.cheapest is None else query.cheapest.size,
        "safe": None if query.safe is None else query.safe.size,
        "model_error": query.model_error,
        "saturated": query.saturated,
        "doubts": list(query.doubts),
    }


def _size_json(advice: Advice, query: QueryAdvice, p: SizePrediction) -> dict[str, Any]:
    return {
        "size": p.size,
        "cores": p.cores,
        "stable": p.stable,
        "utilization": p.utilization,
        "overhead_s": p.overhead_s,
        "per_row_s": p.per_row_s,
        "mean_s": p.mean_s,
        "p95_s": p.p95_s,
        "statistic_s": p.statistic_s,
        "spread_s": None if p.low_s is None else [p.low_s, p.high_s],
        "met": p.meets(query.requirement),
        "cost_per_month": advice.per_month(p.cores),
    }
