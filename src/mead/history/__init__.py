"""Histories: every round of past runs in a SQLite file, with readings, decisions, predictions and effects."""

from __future__ import annotations

from mead.history.file import IN_FOLDER, History
from mead.history.recorder import Recorder
from mead.history.records import Checked, Decision, Effect, InForce, Merged, PastRound, PastRun, errors_of
from mead.history.rows import number, rate_per_s
from mead.history.schema import HistoryError

__all__ = [
    "IN_FOLDER",
    "Checked",
    "Decision",
    "Effect",
    "History",
    "HistoryError",
    "InForce",
    "Merged",
    "PastRound",
    "PastRun",
    "Recorder",
    "errors_of",
    "number",
    "rate_per_s",
]
