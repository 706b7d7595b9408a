"""Past rounds in a SQLite file: what was observed, decided and predicted, and what followed."""
