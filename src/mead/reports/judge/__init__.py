"""The judge of runs: which requirements are met, broken or not known."""

from mead.reports.judge.figures import DRAINED, ENGINE, PERCENTS, Figures, judge_past, path_figures
from mead.reports.judge.outcome import Outcome
from mead.reports.judge.response_times import CountedTimes, SketchedTimes, TupleTimes, counts_within, statistic_s
from mead.reports.judge.verdict import Verdict, all_met, allowed_late, judge, window_starts_s

__all__ = [
    "DRAINED",
    "ENGINE",
    "PERCENTS",
    "CountedTimes",
    "Figures",
    "Outcome",
    "SketchedTimes",
    "TupleTimes",
    "Verdict",
    "all_met",
    "allowed_late",
    "counts_within",
    "judge",
    "judge_past",
    "path_figures",
    "statistic_s",
    "window_starts_s",
]
