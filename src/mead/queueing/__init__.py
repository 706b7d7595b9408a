"""Pure maths: arrival processes, service times, queues and networks of them. No files, no clock, no Spark."""
