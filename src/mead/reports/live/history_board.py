"""The board of a run in a history: of one that is over, or that another process is still writing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from mead.arrays import FloatArray
from mead.history import IN_FOLDER, History, HistoryError, PastRound, PastRun
from mead.reports.frames import Frame, frame_from_history
from mead.reports.live.board import Board
from mead.session import RunFacts
from mead.values import Pipeline

AT_ONCE = 1000
"""Rounds that are read at once, so that a run of weeks takes no more memory than one of minutes."""


class HistoryBoard:
    """Fills a board from a history, and goes on filling it while there is more to read."""

    def __init__(self, history: History, run: PastRun, *, wall_s: Callable[[], float]) -> None:
        self.history, self.number = history, run.number
        self.board = Board(RunFacts.of(run), wall_s=wall_s, stays=True)
        self._wall_s = wall_s
        self._read = 0
        self._looked = False

    def follow(self) -> None:
        """Read what has been written since the last call."""
        finished = self.history.run(self.number).finished  # read first, so that no round is missed
        board = self.board
        for past, frame in read_frames(self.history, self.number, board.facts.pipeline, after=self._read):
            board.pipeline = board.facts.pipeline.with_demands(past.demands_s, past.overheads_s)
            # Rounds before the first reading are dated by the run; later ones have just been written.
            board.put(frame, self._wall_s() if self._looked else board.facts.started_s + past.time_s)
            self._read = past.round
        self._looked = True
        if finished and not board.finished:
            board.figures = self.history.figures(self.number)
            board.finish()

    def with_arrivals(self, iats_s: FloatArray) -> None:
        """Add arrivals from a trace, since a history keeps none."""
        self.board.arrivals = iats_s


def read_frames(history: History, run: int, pipeline: Pipeline, *, after: int) -> Iterator[tuple[PastRound, Frame]]:
    """The rounds of a run after that number, oldest first, each with its frame."""
    with history.snapshot():
        while rounds := history.rounds(run, after=after, limit=AT_ONCE):
            plans = history.plans(run, after=after, limit=AT_ONCE)
            for past, plan in zip(rounds, plans, strict=True):
                try:
                    frame = frame_from_history(past, plan, pipeline)
                except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                    where = f"{history.path}: run {run}, round {past.round}"
                    raise HistoryError(f"{where}: does not fit the pipeline of the run ({error!r})") from error
                yield past, frame
            if len(rounds) < AT_ONCE:
                return
            after = rounds[-1].round


def history_file(path: Path) -> Path:
    """The history itself, or that of a run's folder."""
    return path / IN_FOLDER if path.is_dir() else path
