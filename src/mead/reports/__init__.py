"""Reports on runs and models: verdicts, tables, plots, documents and HTML pages."""
