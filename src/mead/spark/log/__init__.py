"""The embedded log between operators: Arrow files and an index."""
