"""The grounds of a decision as compact JSON, written every second."""

from __future__ import annotations

import json
from typing import Any

from mead.history.rows import number
from mead.values import Allocation, Candidate, Grounds, Pipeline, Resources

DIGITS = 5
"""Significant digits of predictions; every round writes them."""


def grounds_to_json(grounds: Grounds, pipeline: Pipeline) -> str | None:
    """The grounds as JSON, shares and replicas in the order of the pipeline; None if they are empty.

    >>> from mead.values.pipeline import Operator
    >>> one = Pipeline("one", [Operator("matcher", 0.0015)])
    >>> weighed = Candidate(Allocation.of(matcher=Resources(0.4)), response_s=(0.25, None))
    >>> grounds_to_json(Grounds(("330/s",), (weighed,)), one)
    '{"models":["330/s"],"candidates":[{"shares":[0.4],"replicas":[1],"response_s":[0.25,null]}]}'
    """
    if not grounds.models and not grounds.candidates:
        return None
    names = [operator.name for operator in pipeline.operators]
    candidates = [_plain(candidate, names) for candidate in grounds.candidates]
    return json.dumps({"models": grounds.models, "candidates": candidates}, separators=(",", ":"), allow_nan=False)


def grounds_from_json(text: str | None, caution: float | None, pipeline: Pipeline) -> Grounds:
    """The grounds from their JSON, and the caution from its column."""
    found = json.loads(text) if text else {"models": [], "candidates": []}
    names = [operator.name for operator in pipeline.operators]
    return Grounds(
        tuple(found["models"]),
        tuple(
            Candidate(
                Allocation.of(dict(zip(names, map(Resources, one["shares"], one["replicas"]), strict=True))),
                tuple(one.get("response_s", ())),
                one.get("extra_cost"),
                bool(one.get("considered", True)),
            )
            for one in found["candidates"]
        ),
        1.0 if caution is None else caution,
    )


def _plain(candidate: Candidate, names: list[str]) -> dict[str, Any]:
    given = [candidate.allocation[name] for name in names]
    plain: dict[str, Any] = {"shares": [r.share for r in given], "replicas": [r.replicas for r in given]}
    if candidate.response_s:
        plain["response_s"] = [_short(value) for value in candidate.response_s]
    if candidate.extra_cost is not None:
        plain["extra_cost"] = _short(candidate.extra_cost)
    if not candidate.considered:
        plain["considered"] = False
    return plain


def _short(value: float | None) -> float | None:
    known = number(value)
    return None if known is None else float(f"{known:.{DIGITS}g}")
