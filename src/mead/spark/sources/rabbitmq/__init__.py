"""RabbitMQ streams as sources and sinks of Spark, and a private broker."""
