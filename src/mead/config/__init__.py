"""The files that people write: every key typed, with unit, default and meaning, in one place."""
