"""The embedded log between operators: Arrow files and an index, as a source and a sink of Spark."""
