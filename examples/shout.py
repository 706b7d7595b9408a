"""An operator of one's own: a function on Arrow batches, with the columns of its result beside it."""

import pyarrow as pa
import pyarrow.compute as pc

OUTPUT_SCHEMA = "id bigint, arrival_us bigint, line string"


def shout(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Every line in capital letters."""
    columns = {name: batch[name] for name in ("id", "arrival_us")}
    return pa.record_batch({**columns, "line": pc.utf8_upper(batch["line"])})
