"""Reports of micro-batches, arrival stamps, complaints of workers."""
