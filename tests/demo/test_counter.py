from __future__ import annotations

from collections import Counter

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from mead.demo.counter import add_counts, count_batch

Line = tuple[str, str]
LINES = st.lists(st.tuples(st.sampled_from(["auth", "cart", "ü"]), st.sampled_from(["INFO", "WARN"])), max_size=40)


def batch_of(lines: list[Line]) -> pa.RecordBatch:
    components, levels = [component for component, _ in lines], [level for _, level in lines]
    return pa.record_batch({"component": pa.array(components, pa.string()), "level": pa.array(levels, pa.string())})


@given(st.lists(LINES))
def test_totals_are_exact_however_lines_are_split_into_batches(batches: list[list[Line]]) -> None:
    totals: dict[str, dict[str, int]] = {}
    shown: dict[Line, int] = {}
    for lines in batches:
        changed = add_counts(
            totals, [(r["component"], r["level"], r["count"]) for r in count_batch(batch_of(lines)).to_pylist()]
        )
        shown |= {(component, level): total for component, level, total in changed}
        assert {(component, level) for component, level, _ in changed} == set(lines)
    assert shown == Counter(line for lines in batches for line in lines)
    assert {(c, level): n for c, levels in totals.items() for level, n in levels.items()} == shown
