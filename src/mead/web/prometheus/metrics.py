"""The list of metrics, from which endpoint, dashboard, alert rules and reference page are made.

Names and units follow the conventions of Prometheus: base units, and ``_total`` for counters.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeAlias

Type: TypeAlias = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True)
class Description:
    """The description of one metric."""

    name: str
    """With ``_total`` at the end of a counter."""
    type: Type
    unit: str
    labels: tuple[str, ...]
    meaning: str


def _counter(name: str, unit: str, labels: tuple[str, ...], meaning: str) -> Description:
    return Description(f"mead_{name}_total", "counter", unit, labels, meaning)


def _gauge(name: str, unit: str, labels: tuple[str, ...], meaning: str) -> Description:
    return Description(f"mead_{name}", "gauge", unit, labels, meaning)


class Metric(Enum):
    """All metrics, in the order of the reference page."""

    RUN = _gauge("run_info", "", ("pipeline", "policy", "mode", "engine"), "always 1; the labels describe the run")
    FINISHED = _gauge("run_finished", "", (), "1 when the run is over, otherwise 0")
    RESPONSE = Description(
        "mead_response_seconds",
        "histogram",
        "s",
        ("path",),
        "response times of the tuples that left the path, from arrival at the source; when served from a history, the "
        "only bucket is the bound of the requirement",
    )
    REQUIRED = _gauge("required_seconds", "s", ("path", "statistic"), "the bound of the requirement")
    ALLOWANCE = _gauge(
        "requirement_used_ratio",
        "ratio",
        ("path", "statistic"),
        "fraction of the allowance that the last 300 s used: mean over bound, or late tuples over those allowed to be "
        "late; above 1 the requirement is broken",
    )
    ARRIVED = _counter("arrived_tuples", "tuples", ("operator",), "tuples that arrived at the operator")
    BACKLOG = _gauge("backlog_tuples", "tuples", ("operator",), "tuples waiting or in service")
    SHARE = _gauge("share_cores", "cores", ("operator",), "CPU share of one replica, in force")
    REPLICAS = _gauge("replicas", "", ("operator",), "replicas in force")
    PLANNED = _gauge("planned_cores", "cores", ("operator",), "share times replicas, as planned in the last round")
    CORES = _gauge("cores", "cores", (), "CPU cores of all operators together, in force")
    UTILIZATION = _gauge("utilization_ratio", "ratio", ("operator",), "fraction of its cores that the operator used")
    BUSY = _counter("busy_seconds", "s", ("operator",), "CPU time of the workers of the operator")
    THROTTLED = _counter(
        "throttled_seconds",
        "s",
        ("operator",),
        "time that the workers of the operator were ready to run but were throttled by the share",
    )
    ROUNDS = _counter("rounds", "rounds", (), "rounds of the control loop")
    DECISIONS = _counter("decisions", "rounds", ("kind", "because"), "rounds by outcome and reason")
    PHASE = _counter("loop_phase_seconds", "s", ("phase",), "CPU time of the control loop")
    INTERVAL = _gauge("round_interval_seconds", "s", (), "time between two rounds, as set by the policy")
    LAST_ROUND = _gauge(
        "last_round_timestamp_seconds", "s", (), "Unix time of the last round, or of the start before the first round"
    )
    PREDICTED = _gauge(
        "predicted_response_seconds",
        "s",
        ("path", "statistic"),
        "predicted response time of the plan of the last round",
    )
    MODEL_ERROR = _gauge(
        "model_error_ratio",
        "ratio",
        ("path",),
        "observed over predicted mean response time, less 1, over the last 300 s; in mode advise, for the allocation "
        "in force",
    )
    CAUTION = _gauge(
        "caution_ratio",
        "ratio",
        (),
        "how many times tighter than required the last round took the bounds because recent predictions were too low; "
        "1 while predictions are trusted",
    )

    @property
    def family(self) -> str:
        """The name without ``_total``, as the client library expects it."""
        return self.value.name.removesuffix("_total")
