"""``mead metrics``: what Prometheus and Grafana need to know, made from the list of metrics."""

from __future__ import annotations

import typer

from mead.cli.terminal import AsJson, print_json

app = typer.Typer(
    help="What a run tells Prometheus, and ready-made files for it and for Grafana.", no_args_is_help=True
)


@app.command("list")
def list_(*, as_json: AsJson = False) -> None:
    """Every metric with its type, unit, labels and meaning."""
    from dataclasses import asdict

    from mead.web.metrics import Metric

    if as_json:
        print_json({"metrics": [asdict(metric.value) | {"labels": list(metric.value.labels)} for metric in Metric]})
        return

    from rich.console import Console

    from mead.reports.tables import plain_table

    table = plain_table("Metrics", "name", "type", "labels", "meaning")
    for column in table.columns:
        column.justify = "left"
    table.columns[-1].no_wrap = False
    for metric in Metric:
        it = metric.value
        table.add_row(it.name, it.type, ", ".join(it.labels), f"{it.meaning}{f', in {it.unit}' if it.unit else ''}")
    Console().print(table)


@app.command()
def dashboard() -> None:
    """A dashboard for Grafana, as JSON: `mead metrics dashboard > mead.json`, then import it there."""
    from mead.web.dashboard import dashboard as document

    print_json(document())


@app.command()
def alerts() -> None:
    """Alert rules for Prometheus, as YAML: a requirement is broken; the controller is silent; the run is gone."""
    from mead.web.alerts import alert_rules

    typer.echo(alert_rules(), nl=False)
