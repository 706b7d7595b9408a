"""RabbitMQ streams as sources and sinks of Spark, and a broker to try them with."""
