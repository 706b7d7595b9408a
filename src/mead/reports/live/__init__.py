"""A run while it is watched: its board, decisions and snapshots."""

from mead.reports.live.board import KEPT_FRAMES, LEAST_SILENT_S, SILENT_ROUNDS, Board, silent_after_s
from mead.reports.live.decisions import DecisionRecord, Decisions, list_decisions, model_error
from mead.reports.live.history_board import HistoryBoard, history_file, read_frames
from mead.reports.live.live_table import snapshot_table
from mead.reports.live.snapshot import RECENT, PathTimes, Snapshot, Standing, path_times

__all__ = [
    "KEPT_FRAMES",
    "LEAST_SILENT_S",
    "RECENT",
    "SILENT_ROUNDS",
    "Board",
    "DecisionRecord",
    "Decisions",
    "HistoryBoard",
    "PathTimes",
    "Snapshot",
    "Standing",
    "history_file",
    "list_decisions",
    "model_error",
    "path_times",
    "read_frames",
    "silent_after_s",
    "snapshot_table",
]
