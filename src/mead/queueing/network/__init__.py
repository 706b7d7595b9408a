"""Networks of queues: pipelines of operators that are fed by one bursty source."""
