"""Frames: control rounds as plain numbers, for judge, page, reports and savings."""

from mead.reports.frames.conversion import frame_from_history, frame_from_round
from mead.reports.frames.frame import Frame, Kind, OperatorFrame, PathFrame

__all__ = ["Frame", "Kind", "OperatorFrame", "PathFrame", "frame_from_history", "frame_from_round"]
