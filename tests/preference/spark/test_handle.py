"""What a running query tells of itself, without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from tests.preference.spark.oracle import Tuple
from tests.preference.spark.stream_folder import engine, names, put, results

from mead.preference.kernels.dominance import Preferences
from mead.preference.spark.handle import PreferenceQuery
from mead.preference.spark.query_spec import ExecutionOptions, QuerySpec
from mead.preference.windows.panes import Windows
from mead.spark.log.stream_log import StreamLog, WrittenFile

SPEC = QuerySpec(Preferences(tuple(names(2)), ("min", "min")), Windows(300, 100))
BATCHES, ROWS, GAP_US = 25, 20, 5_000


@pytest.fixture
def query(tmp_path: Path) -> Iterator[PreferenceQuery]:
    """After many micro-batches, none of which is still to come."""
    running, rng = engine(tmp_path, SPEC, ExecutionOptions(elastic=False), 2), np.random.default_rng(1)
    stamps = range(0, BATCHES * ROWS * GAP_US, GAP_US)
    stream = [Tuple(stamp, stamp, (rng.random(), rng.random())) for stamp in stamps]
    for number in range(BATCHES):
        put(tmp_path, number, stream[ROWS * number : ROWS * (number + 1)], 2, rng)
        running.step()
    running.finish()
    handle = PreferenceQuery(
        running, cast("Any", None), lambda: pytest.fail("nobody has spec for a DataFrame"), lambda: None
    )
    yield handle
    handle._stop.set()
    handle._stages.join()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    """How often an index has been looked into, by folder and by log."""
    counted: Counter[Any] = Counter()
    catch_up = StreamLog._catch_up

    def counting(log: StreamLog) -> None:
        counted.update([log.folder, id(log)])
        catch_up(log)

    monkeypatch.setattr(StreamLog, "_catch_up", counting)
    return counted


def test_all_windows_are_told_after_one_look_however_many_micro_batches_there_were(
    query: PreferenceQuery, looks: Counter[Any], tmp_path: Path
) -> None:
    found, best = query.windows(), results(tmp_path, 2)
    assert len(found) == 23, "2.5 s of stream"
    assert [(one.window, one.size) for one in found] == [(window, len(rows)) for window, rows in best.items()]
    looks.clear()
    assert query.windows() == found, "they can be spec for again"
    assert looks[query.engine.folder.results] == 1


def test_tuples_turned_away_are_counted_once_and_after_one_look(query: PreferenceQuery, looks: Counter[Any]) -> None:
    assert query.rejected == 0
    log = StreamLog(query.engine.folder.tuples)
    for number in range(1, 4):
        log.commit(BATCHES + number, [(WrittenFile("", 0), {"rejected": number})])
    looks.clear()
    assert query.rejected == 1 + 2 + 3
    assert looks[id(query._rejections)] == 1
    assert query.rejected == 6
