"""Compiled kernels are loaded by a worker process before its first tuple, and before anybody takes the time."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from mead.preference.control.threshold import Threshold
from mead.preference.spark.emission import Emitter, by_arrival
from mead.preference.spark.query_spec import NUMBER, Asked, Kernel
from mead.preference.spark.reduction import answer, reduced
from mead.preference.windows.owner_table import OwnerTable, Splitting
from mead.preference.windows.pane_emitter import PaneEmitter


@cache
def warm_up(asked: Asked, kernel: Kernel) -> None:
    """Compile what the query needs, once per process."""
    names = asked.preferences.columns
    few = pa.table({name: [1.0, 2.0] for name in names} | {NUMBER: [0, 1]})
    answer(reduced(few, asked, kernel), asked)
    panes = PaneEmitter(OwnerTable(2, Splitting.ADAPTIVE), Threshold())
    panes.add([0, 1])
    stamps_us = np.array([0, 3 * asked.windows.pane_us])
    Emitter(asked.windows, asked.k_slack(), panes).offer(stamps_us, stamps_us[by_arrival(stamps_us, stamps_us, [2])])


def warm_worker(kernels: tuple[Asked, Kernel]) -> None:
    """Warm a worker up, in a Spark task, before the stream begins."""
    warm_up(*kernels)
