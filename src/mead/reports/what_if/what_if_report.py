"""The answers of all policies at the end of a trace, as tables and as a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from mead.reports.documents import allocation_json, prediction_json
from mead.reports.tables import NOTHING, TimeUnit, number, plain_table, yes_or_no
from mead.reports.what_if.frontier import FrontierPoint
from mead.reports.what_if.what_if import Choice, WhatIf
from mead.values import Prediction

COLUMNS = 80
"""The width of a terminal."""


def as_json(answer: WhatIf) -> dict[str, Any]:
    """The document of `mead plan --json`."""
    return {
        "pipeline": answer.pipeline.name,
        "window": {"tuples": len(answer.tail), "span_s": answer.tail.duration_s, "rate_per_s": answer.tail.rate_per_s},
        "policies": [_choice_json(choice) for choice in answer.choices],
        "frontier": [_point_json(point) for point in answer.frontier],
    }


def _choice_json(choice: Choice) -> dict[str, Any]:
    return {
        "policy": choice.policy,
        "allocation": None if choice.allocation is None else allocation_json(choice.allocation),
        "cores": dict(choice.cores),
        "cores_total": sum(choice.cores.values()) if choice.cores else None,
        "predicted": _by_path(choice.predicted),
        "simulated": _by_path(choice.simulated),
        "met": choice.met,
        "reason": choice.reason,
    }


def _point_json(point: FrontierPoint) -> dict[str, Any]:
    required: dict[str, dict[str, float]] = {}
    for requirement in point.requirements:
        required.setdefault(requirement.path, {})[f"{requirement.statistic}_s"] = requirement.bound_s
    return {
        "factor": point.factor,
        "required": required,
        "allocation": allocation_json(point.allocation),
        "cores_total": point.allocation.cores,
        "predicted": _by_path(point.predicted),
        "met": point.met,
    }


def _by_path(predicted: Mapping[str, Prediction]) -> dict[str, Any]:
    return {path: prediction_json(prediction) for path, prediction in predicted.items()}


def what_if_tables(answer: WhatIf) -> Iterator[Table | Text]:
    """Tables of the choices, their response times, and the frontier."""
    tail = answer.tail
    yield Text(
        f"{answer.pipeline.name} after the last {number(tail.duration_s)} s of arrivals: {len(tail):,} tuples, "
        f"{number(tail.rate_per_s)} per s"
    )
    yield _choice_table(answer)
    required = {requirement.path for requirement in answer.pipeline.requirements} or set(answer.pipeline.paths)
    for path in answer.pipeline.paths:
        if path not in required and not _overloaded(answer.choices, path):
            continue
        yield _response_table(answer.choices, path)
    for choice in answer.choices:
        if choice.met is None:
            yield Text(f"{choice.policy} has no answer: {choice.reason}.", style="yellow")
        elif choice.allocation is None:
            yield Text(f"{choice.policy} names no allocation: {choice.reason}.")
        elif choice.kept and not choice.predicted:
            yield Text(f"{choice.policy}: {choice.reason}")
    if answer.frontier:
        yield _frontier_table(answer)
        yield Text(f"Found by replay of the last IATs and {answer.search}.")
    else:
        yield Text(f"There are no costs of other bounds: {answer.search}.")


def _choice_table(answer: WhatIf) -> Table:
    headings = ["cores", "enough", *(operator.name for operator in answer.pipeline.operators)]
    rows = {choice.policy: _choice_cells(choice, headings[2:]) for choice in answer.choices}
    return _grid("Choice of each policy", "policy", headings, rows)


def _choice_cells(choice: Choice, names: Iterable[str]) -> list[Text]:
    if not choice.cores:
        return [Text(NOTHING) for _ in ("cores", "enough", *names)]
    given = choice.allocation
    cells = [f"~{choice.cores[name]:.2f}" if given is None else str(given[name]) for name in names]
    return [Text(f"{sum(choice.cores.values()):.2f}"), yes_or_no(met=choice.met), *map(Text, cells)]


def _grid(title: str, corner: str, headings: list[str], rows: Mapping[str, list[Text]]) -> Table:
    """A table; with too many operators for the width, rows and columns are swapped."""
    widths = [max(len(cell) for cell in column) + 2 for column in zip(*rows.values(), map(Text, headings), strict=True)]
    if sum(widths) + max(map(len, [corner, *rows])) + 1 > COLUMNS:
        flipped = {heading: [cells[i] for cells in rows.values()] for i, heading in enumerate(headings)}
        corner, headings, rows = "", list(rows), flipped
    table = plain_table(title, corner, *headings)
    for name, cells in rows.items():
        table.add_row(Text(name), *cells)
    return table


def _response_table(choices: Iterable[Choice], path: str) -> Table:
    rows = {c.policy: [*_times(c.predicted.get(path)), *_times(c.simulated.get(path))] for c in choices if c.cores}
    unit = TimeUnit.of(time_s for times_s in rows.values() for time_s in times_s if isinstance(time_s, float))
    title = f"Response time on {path} in {unit.name}"
    table = plain_table(title, "policy", "its model: mean", "p95", "simulated: mean", "p95")
    for policy, times_s in rows.items():
        table.add_row(policy, *(unit.show(time_s) if isinstance(time_s, float) else time_s for time_s in times_s))
    return table


def _overloaded(choices: Iterable[Choice], path: str) -> bool:
    """Whether a path is overloaded under the choice of any policy."""
    answers = (answer.get(path) for choice in choices for answer in (choice.predicted, choice.simulated))
    return any(answer is not None and not answer.stable for answer in answers)


def _times(prediction: Prediction | None) -> list[float | str]:
    if prediction is None:
        return [NOTHING, NOTHING]
    if not prediction.stable:
        return ["overload", "overload"]
    return [NOTHING if time_s is None else time_s for time_s in (prediction.mean_s, prediction.p95_s)]


def _frontier_table(answer: WhatIf) -> Table:
    headings = ["cores", "possible", *(operator.name for operator in answer.pipeline.operators)]
    rows = {_bounds(point): _point_cells(point) for point in answer.frontier}
    return _grid("Cheapest allocation for other bounds", "bound", headings, rows)


def _point_cells(point: FrontierPoint) -> list[Text]:
    given = (str(resources) for resources in point.allocation.values())
    return [Text(f"{point.allocation.cores:.2f}"), yes_or_no(met=point.met), *map(Text, given)]


def _bounds(point: FrontierPoint) -> str:
    if len(point.requirements) > 1:
        return f"x {point.factor:g}"
    requirement = point.requirements[0]
    return f"{requirement.statistic} {number(requirement.bound_s)} s"
