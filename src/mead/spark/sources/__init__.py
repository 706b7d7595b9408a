"""Inputs of operators: traces, logs, RabbitMQ streams, and other streams of Spark."""
