"""Inputs of operators: traces, logs, RabbitMQ and other streams."""
