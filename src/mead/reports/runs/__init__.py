"""Reports on single runs as tables and documents: live, simulated and past runs, and single decisions."""

from mead.reports.runs.explanation import Explanation, explanation_tables, find_round
from mead.reports.runs.history_report import PolicyError, decision_tables, policy_errors, runs_table
from mead.reports.runs.live_report import LiveReport
from mead.reports.runs.simulated_report import SimulatedReport

__all__ = [
    "Explanation",
    "LiveReport",
    "PolicyError",
    "SimulatedReport",
    "decision_tables",
    "explanation_tables",
    "find_round",
    "policy_errors",
    "runs_table",
]
