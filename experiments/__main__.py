"""``python -m experiments NAME`` runs an experiment."""

from __future__ import annotations

from experiments.commands import app

if __name__ == "__main__":
    app(prog_name="python -m experiments")
