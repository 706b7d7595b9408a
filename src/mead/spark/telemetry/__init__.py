"""Reports of micro-batches, arrival stamps of their rows, and complaints of workers."""
