"""Experiments of the papers and our own: ``python -m experiments NAME``. README.md says what is where."""
