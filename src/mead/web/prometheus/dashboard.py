"""A Grafana dashboard, made from the list of metrics: one panel for each metric that changes."""

from __future__ import annotations

from typing import Any

from mead.web.prometheus.metrics import Metric

COLUMNS, HEIGHT = 2, 8
WIDTH = 24 // COLUMNS
OVER = "$__rate_interval"
"""Grafana replaces this with four times the scrape interval. A rate needs two scrapes, and some may fail."""

UNITS = {"s": "s", "ratio": "percentunit", "tuples": "short", "cores": "short", "rounds": "short", "": "short"}

SPLIT = {Metric.DECISIONS}
"""Metrics with one panel for each label."""

OMITTED = {Metric.RUN, Metric.FINISHED, Metric.INTERVAL, Metric.LAST_ROUND, Metric.REQUIRED}
"""Metrics without a panel: constants, or part of other panels."""


def dashboard() -> dict[str, Any]:
    """The document that Grafana imports. The user selects the data source there."""
    shown = [
        (metric, by)
        for metric in Metric
        if metric not in OMITTED
        for by in (((label,) for label in metric.value.labels) if metric in SPLIT else [metric.value.labels])
    ]
    return {
        "title": "MEAD",
        "uid": "mead",
        "schemaVersion": 39,
        "refresh": "5s",
        "time": {"from": "now-30m", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
                {
                    "name": "instance",
                    "label": "Run",
                    "type": "query",
                    "datasource": {"type": "prometheus", "uid": "${datasource}"},
                    "query": f"label_values({Metric.RUN.value.name}, instance)",
                    "refresh": 2,
                },
            ]
        },
        "panels": [_panel(place, metric, by) for place, (metric, by) in enumerate(shown)],
    }


def _panel(place: int, metric: Metric, by: tuple[str, ...]) -> dict[str, Any]:
    it = metric.value
    per_second = it.type == "counter" and it.unit != "s"
    unit = "percentunit" if it.type == "counter" and it.unit == "s" else UNITS[it.unit]
    return {
        "id": place + 1,
        "type": "timeseries",
        "title": it.name.removeprefix("mead_").removesuffix("_total").replace("_", " ")
        + (f" by {by[0]}" if metric in SPLIT else "")
        + (" per s" if per_second else ""),
        "description": it.meaning,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "gridPos": {"h": HEIGHT, "w": WIDTH, "x": WIDTH * (place % COLUMNS), "y": HEIGHT * (place // COLUMNS)},
        "fieldConfig": {
            "defaults": {"unit": unit, "min": None if metric is Metric.MODEL_ERROR else 0},
            "overrides": [],
        },
        "targets": [
            {"refId": chr(ord("A") + i), "expr": expression, "legendFormat": legend}
            for i, (expression, legend) in enumerate(_expressions(metric, by))
        ],
    }


def _expressions(metric: Metric, by: tuple[str, ...]) -> list[tuple[str, str]]:
    """The expressions of a panel, each with its legend."""
    it, chosen = metric.value, '{instance="$instance"}'
    legend = " ".join(f"{{{{{label}}}}}" for label in by) or it.name
    if it.type == "gauge":
        return [(f"{it.name}{chosen}", legend)]
    if it.type == "counter":
        rate = f"rate({it.name}{chosen}[{OVER}])"
        return [(f"sum by ({', '.join(by)}) ({rate})" if metric in SPLIT else rate, legend)]
    buckets = f"sum by (le, {', '.join(it.labels)}) (rate({it.name}_bucket{chosen}[{OVER}]))"
    return [
        *((f"histogram_quantile({q}, {buckets})", f"{legend} p{q * 100:g}") for q in (0.5, 0.95, 0.99)),
        (f"rate({it.name}_sum{chosen}[{OVER}]) / rate({it.name}_count{chosen}[{OVER}])", f"{legend} mean"),
        (f"{Metric.REQUIRED.value.name}{chosen}", "required {{statistic}} {{path}}"),
    ]
