"""Alert rules for Prometheus, made from the list of metrics.

The process of the controller serves the metrics. A controller that hangs has old metrics, and one that is gone has
none, so there is a rule for each.
"""

from __future__ import annotations

from typing import Any

import yaml

from mead.reports.live import LEAST_SILENT_S, SILENT_ROUNDS
from mead.web.prometheus.metrics import Metric

REMEMBERED = "1h"
"""How long an alert remembers a run that no longer has metrics."""


def alert_rules() -> str:
    """A rules file: `rule_files: [mead-alerts.yml]` in the configuration of Prometheus."""
    used, required = Metric.ALLOWANCE.value.name, Metric.REQUIRED.value.name
    last, interval, finished = (metric.value.name for metric in (Metric.LAST_ROUND, Metric.INTERVAL, Metric.FINISHED))
    silent_s = f"clamp_min({SILENT_ROUNDS} * {interval}, {LEAST_SILENT_S:g})"
    rules: list[dict[str, Any]] = [
        {
            "alert": "MeadRequirementBroken",
            "expr": f"{used} > 1 and on (job, instance) {finished} == 0",
            "for": "1m",
            "labels": {"severity": "warning"},
            "annotations": {
                "summary": "The {{ $labels.statistic }} response time of {{ $labels.path }} is longer than required",
                "description": "The last 300 s have used {{ $value | humanizePercentage }} of what "
                f"{required} allows. The view Why of the page shows the decisions.",
            },
        },
        {
            "alert": "MeadControllerSilent",
            "expr": f"time() - {last} > on (job, instance) {silent_s} and on (job, instance) {finished} == 0",
            "for": "0m",
            "labels": {"severity": "critical"},
            "annotations": {
                "summary": "The controller has made no round for {{ $value | humanizeDuration }}",
                "description": "The pipeline keeps running with its last allocation, which is no longer adapted.",
            },
        },
        {
            "alert": "MeadRunGone",
            "expr": f"up == 0 and on (job, instance) last_over_time({finished}[{REMEMBERED}]) == 0",
            "for": "1m",
            "labels": {"severity": "critical"},
            "annotations": {
                "summary": "The run at {{ $labels.instance }} ended unexpectedly",
                "description": "Its process is gone or cannot be reached. A run that ends normally reports that it has "
                "finished before its metrics disappear.",
            },
        },
    ]
    return yaml.safe_dump({"groups": [{"name": "mead", "rules": rules}]}, sort_keys=False, width=1000)
