"""Draw the figures of the PA-SPS paper: replicas and throughput over time (Figs. 9, 10, 13 and 15)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from experiments.pasps.run import INTERVAL_S
from mead.reports.models.plots import STYLE
from mead.reports.runs.run_plot import COLOURS

if TYPE_CHECKING:
    from experiments.pasps.report import TableResult


def plot_table(result: TableResult, folder: Path) -> Path:
    """Draw the runs of a table with the first seed: above all replicas, below tuples in and out per second."""
    path = folder / f"pasps-{result.table.title.partition(':')[0].lower().replace(' ', '-')}.png"
    with rc_context(STYLE):
        figure = Figure(figsize=(9.0, 6.5), layout="constrained")
        replicas, throughput = figure.subplots(2, 1, sharex=True)
        figure.suptitle(" - ".join(filter(None, (result.table.figure, result.table.title))))
        for place, run in enumerate(one for one in result.runs if one.system in result.table.published):
            colour, intervals = COLOURS[place % len(COLOURS)], run.intervals
            starts_s = INTERVAL_S * np.arange(intervals.received.size)
            label = run.system.removeprefix("pasps@predictor=").replace("@", " ")
            replicas.step(starts_s, intervals.replicas, where="post", color=colour, label=label)
            middles_s = starts_s + INTERVAL_S / 2
            throughput.plot(middles_s, intervals.processed / INTERVAL_S, color=colour, label=label)
            if not place:
                throughput.plot(middles_s, intervals.received / INTERVAL_S, "k:", label="input")
        replicas.set_ylabel("active replicas")
        replicas.set_ylim(bottom=0)
        throughput.set_ylabel("tuples/s")
        throughput.set_xlabel("time in s")
        throughput.set_ylim(bottom=0)
        throughput.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        figure.savefig(path)
    return path
