"""Reporter: what has become a maximal frequent pattern, and what is one no more, to be kept.

A pattern may show up for one micro-batch and be taken back in the next: it was frequent before word came that a longer
one is, too.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

OUTPUT_SCHEMA = "arrival_us bigint, pattern string, words int, maximal boolean, turn bigint"


def report(batch: pa.RecordBatch) -> pa.RecordBatch:
    """From the detector's rows to ``pattern``, its number of words, whether it is maximal, and when that was found.

    >>> rows = {"arrival_us": [5], "itemset": ["late train"], "maximal": [True], "turn": [3]}
    >>> report(pa.record_batch(rows)).to_pylist()
    [{'arrival_us': 5, 'pattern': 'late train', 'words': 2, 'maximal': True, 'turn': 3}]
    """
    itemsets = batch["itemset"]
    words = pc.add(pc.count_substring(itemsets, pattern=" "), pa.scalar(1, pa.int32()))
    columns = [batch["arrival_us"], itemsets, words, batch["maximal"], batch["turn"]]
    return pa.record_batch(columns, names=["arrival_us", "pattern", "words", "maximal", "turn"])
