"""``python -m experiments NAME``: the experiments of the papers and our own."""

from __future__ import annotations

from experiments.commands import app

if __name__ == "__main__":
    app(prog_name="python -m experiments")
