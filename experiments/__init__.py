"""What the models answer, made ready for people and scripts: reports, tables, plots."""
