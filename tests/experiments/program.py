"""``python -m experiments`` under test."""

from __future__ import annotations

from functools import partial

from experiments.commands import app
from tests.cli import program

run = partial(program.run, app=app)
answer = partial(program.answer, app=app)
complaint = partial(program.complaint, app=app)
