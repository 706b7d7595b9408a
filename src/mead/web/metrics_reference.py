"""The reference page of the metrics, made from their list: ``python -m mead.web.metrics_reference FILE``."""

from __future__ import annotations

import sys
from pathlib import Path

from mead.reports.live.frame import Kind
from mead.values import Because
from mead.web.metrics import Metric

PAGE = """# Metrics

What `/metrics` of [the page of a run](../how-to/watch-a-run.md) tells Prometheus. One list makes this page, the
endpoint, the dashboard (`mead metrics dashboard`) and the alert rules (`mead metrics alerts`); `mead metrics list`
prints it.

{metrics}

The label `kind` of `{decisions}` says what a round came to:

{kinds}

The label `because` says why, in one word of a short list; the reason of a decision tells it with the numbers:

{reasons}
"""


def page() -> str:
    """All of it."""
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
        reasons=_table(("because", "meaning"), [(f"`{why.value}`", why.meaning) for why in Because]),
    )


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, ("---",) * len(headings), *rows))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page())
