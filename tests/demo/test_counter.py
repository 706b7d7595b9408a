from __future__ import annotations

from collections import Counter

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from mead.demo.counter import count

Line = tuple[str, str]
LINES = st.lists(st.tuples(st.sampled_from(["auth", "cart", "ü"]), st.sampled_from(["INFO", "WARN"])), max_size=40)


def batch_of(lines: list[Line]) -> pa.RecordBatch:
    components, levels = [component for component, _ in lines], [level for _, level in lines]
    return pa.record_batch({"component": pa.array(components, pa.string()), "level": pa.array(levels, pa.string())})


@given(st.lists(LINES))
def test_totals_are_exact_however_lines_are_split_into_batches(batches: list[list[Line]]) -> None:
    totals: dict[Line, int] = {}
    shown: dict[Line, int] = {}
    for lines in batches:
        changed = count(batch_of(lines), totals).to_pylist()
        shown |= {(row["component"], row["level"]): row["count"] for row in changed}
        assert {(row["component"], row["level"]) for row in changed} == set(lines)
        assert len(changed) == len(set(lines))
    assert shown == totals == Counter(line for lines in batches for line in lines)
