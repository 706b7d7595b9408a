"""``mead metrics``: the list of metrics, and files for Prometheus and Grafana."""

from __future__ import annotations

import typer

from mead.cli.terminal import AsJson, print_json

app = typer.Typer(help="List the metrics of a run, and print files for Prometheus and Grafana.", no_args_is_help=True)


@app.command("list")
def list_(*, as_json: AsJson = False) -> None:
    """List all metrics with type, unit, labels and meaning."""
    from dataclasses import asdict

    from mead.web.prometheus.metrics import Metric

    if as_json:
        print_json({"metrics": [asdict(metric.value) | {"labels": list(metric.value.labels)} for metric in Metric]})
        return

    from rich.console import Console

    from mead.reports.tables import plain_table

    table = plain_table("Metrics", "name", "type", "labels", "meaning")
    for column in table.columns:
        column.justify = "left"
    for metric in Metric:
        it = metric.value
        table.add_row(it.name, it.type, ", ".join(it.labels), f"{it.meaning}{f', in {it.unit}' if it.unit else ''}")
    Console().print(table)


@app.command()
def dashboard() -> None:
    """Print a dashboard for Grafana as JSON: `mead metrics dashboard > mead.json`, then import it."""
    from mead.web.prometheus.dashboard import dashboard as document

    print_json(document())


@app.command()
def alerts() -> None:
    """Print alert rules for Prometheus as YAML: requirement broken, controller silent, run gone."""
    from mead.web.prometheus.alerts import alert_rules

    typer.echo(alert_rules(), nl=False)
