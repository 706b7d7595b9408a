"""Every metric in one list, from which the endpoint, the dashboard, the alert rules and the reference page are made.

Names and units follow the conventions of Prometheus: seconds, base units, ``_total`` for what only grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeAlias

Type: TypeAlias = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True)
class Description:
    """What a metric is."""

    name: str
    """As it is asked for; a counter ends in ``_total``."""
    type: Type
    unit: str
    labels: tuple[str, ...]
    meaning: str


def _counter(name: str, unit: str, labels: tuple[str, ...], meaning: str) -> Description:
    return Description(f"mead_{name}_total", "counter", unit, labels, meaning)


def _gauge(name: str, unit: str, labels: tuple[str, ...], meaning: str) -> Description:
    return Description(f"mead_{name}", "gauge", unit, labels, meaning)


class Metric(Enum):
    """One line each. The order is that of the reference page."""

    RUN = _gauge("run_info", "", ("pipeline", "policy", "mode", "engine"), "always 1; the labels say what runs")
    FINISHED = _gauge("run_finished", "", (), "1 when the run is over, so that nobody waits for rounds")
    RESPONSE = Description(
        "mead_response_seconds",
        "histogram",
        "s",
        ("path",),
        "response times of the tuples that left the path, from arrival at the source; where only a history is served, "
        "the one bucket is the bound of the requirement",
    )
    REQUIRED = _gauge("required_seconds", "s", ("path", "statistic"), "the bound of the requirement")
    ALLOWANCE = _gauge(
        "requirement_used_ratio",
        "ratio",
        ("path", "statistic"),
        "the part of the allowance that the last 300 s have used: mean over bound, or late tuples over those that may "
        "be late; above 1 the requirement is broken",
    )
    ARRIVED = _counter("arrived_tuples", "tuples", ("operator",), "tuples that arrived at the operator")
    BACKLOG = _gauge("backlog_tuples", "tuples", ("operator",), "tuples waiting or in service")
    SHARE = _gauge("share_cores", "cores", ("operator",), "CPU share of one replica, in force")
    REPLICAS = _gauge("replicas", "", ("operator",), "replicas in force")
    PLANNED = _gauge("planned_cores", "cores", ("operator",), "share times replicas, as planned in the last round")
    CORES = _gauge("cores", "cores", (), "CPU cores of all operators together, in force: what is paid for")
    UTILIZATION = _gauge("utilization_ratio", "ratio", ("operator",), "the part of its cores that it used")
    BUSY = _counter("busy_seconds", "s", ("operator",), "CPU time of its workers")
    THROTTLED = _counter(
        "throttled_seconds",
        "s",
        ("operator",),
        "time that its workers were ready to run and were held back by the share",
    )
    ROUNDS = _counter("rounds", "rounds", (), "rounds of the control loop")
    DECISIONS = _counter("decisions", "rounds", ("kind", "because"), "rounds by what they came to, and why")
    PHASE = _counter("loop_phase_seconds", "s", ("phase",), "CPU time of the control loop")
    INTERVAL = _gauge("round_interval_seconds", "s", (), "time between two rounds, as the policy asks for")
    LAST_ROUND = _gauge(
        "last_round_timestamp_seconds", "s", (), "Unix time of the last round; before the first one, of the start"
    )
    PREDICTED = _gauge(
        "predicted_response_seconds", "s", ("path", "statistic"), "predicted for the plan of the last round"
    )
    MODEL_ERROR = _gauge(
        "model_error_ratio",
        "ratio",
        ("path",),
        "observed over predicted mean response time, less 1, over the last 300 s; in mode advise, of what is in force",
    )
    CAUTION = _gauge(
        "caution_ratio",
        "ratio",
        (),
        "how many times tighter than required bounds were taken in the last round, because predictions were exceeded "
        "lately; 1 while they are trusted",
    )

    @property
    def family(self) -> str:
        """The name without the ending of a counter, as the client library wants it."""
        return self.value.name.removesuffix("_total")
