"""Write the reference page of the metrics: ``python -m mead.web.prometheus.reference FILE``."""

from __future__ import annotations

import sys
from pathlib import Path

from mead.reports.frames import Kind
from mead.values import Cause
from mead.web.prometheus.metrics import Metric

PAGE = """# Metrics

[The page of a run](../how-to/watch-a-run.md) serves these metrics for Prometheus at `/metrics`.
`mead metrics list` prints them, `mead metrics dashboard` prints a dashboard for Grafana, and
`mead metrics alerts` prints alert rules.

{metrics}

The label `kind` of `{decisions}` is the outcome of a round:

{kinds}

The label `because` is the category of the reason. The reason of a decision has the numbers:

{reasons}
"""


def page() -> str:
    """The page in Markdown."""
    return PAGE.format(
        metrics=_table(
            ("metric", "type", "unit", "labels", "meaning"),
            [
                (f"`{it.name}`", it.type, it.unit, ", ".join(f"`{label}`" for label in it.labels), it.meaning)
                for it in (metric.value for metric in Metric)
            ],
        ),
        decisions=Metric.DECISIONS.value.name,
        kinds=_table(("kind", "meaning"), [(f"`{kind.value}`", kind.meaning) for kind in Kind]),
        reasons=_table(("because", "meaning"), [(f"`{why.value}`", why.meaning) for why in Cause]),
    )


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, ("---",) * len(headings), *rows))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page())
