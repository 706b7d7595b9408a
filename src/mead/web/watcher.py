"""Watch a run of another process, through its history or its page."""

from __future__ import annotations

from collections import deque
from http.client import HTTPException
from math import ceil
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from pydantic import BaseModel, ValidationError

from mead.history import History, HistoryError
from mead.reports.frames import Frame
from mead.reports.judge import CountedTimes
from mead.reports.live import KEPT_FRAMES, RECENT, PathTimes, Snapshot, Standing, history_file, read_frames
from mead.values import WINDOW_S
from mead.web.token import Token

UNAUTHORIZED = 401

ANSWER_S = 5.0
"""Timeout of a request to a page."""

MOST_BYTES = 16 * 1024 * 1024
"""The most bytes of an answer. Thirty rounds of the largest pipeline are smaller."""

Answer = TypeVar("Answer", bound=BaseModel)


class WatchError(Exception):
    """The run cannot be watched. The message begins with its path or address."""


class Watcher(Protocol):
    """Takes snapshots of one run."""

    def snapshot(self) -> Snapshot:
        """The run at this moment. Raises WatchError."""


class HistoryWatcher:
    """Watches a run through its history: the file, or the folder of the run. This needs no server."""

    def __init__(self, place: Path, run: int | None = None) -> None:
        file = history_file(place)
        try:
            self.history = History.read(file)
            runs = self.history.runs()
            if not runs:
                raise WatchError(f"{file}: it has no runs yet")
            found = runs[-1] if run is None else self.history.run(run)
        except HistoryError as error:
            raise WatchError(str(error)) from error
        self.number, self.pipeline = found.number, found.pipeline
        judged_over = WINDOW_S / (found.interval_s or 1.0)
        kept = min(KEPT_FRAMES, max(RECENT, ceil(judged_over) + 1))
        self._frames: deque[Frame] = deque(maxlen=kept)
        self._read = max(0, found.rounds - kept)

    def close(self) -> None:
        """Close the file."""
        self.history.__exit__(None)

    def snapshot(self) -> Snapshot:
        """The run as recorded. Only new rounds are read one by one; SQLite sums up the earlier ones."""
        try:
            run = self.history.run(self.number)
            for _, frame in read_frames(self.history, self.number, self.pipeline, after=self._read):
                self._frames.append(frame)
                self._read = frame.number
            totals, concluded = self.history.path_totals(self.number), self.history.figures(self.number)
        except HistoryError as error:
            raise WatchError(str(error)) from error
        since_s = self._frames[-1].time_s - WINDOW_S if self._frames else 0.0
        window = [frame for frame in self._frames if frame.time_s > since_s]
        return Snapshot(
            self.pipeline.name,
            run.policy,
            run.mode,
            tuple(operator.name for operator in self.pipeline.operators),
            run.finished,
            tuple(window[-RECENT:]),
            {
                path: PathTimes.recorded(concluded.get(path, {}), totals[path].mean_s if path in totals else None)
                for path in self.pipeline.paths
            },
            tuple(Standing.of(CountedTimes(window).whole(requirement)) for requirement in self.pipeline.requirements),
        )


class _Operator(BaseModel):
    name: str


class _Pipeline(BaseModel):
    name: str
    operators: tuple[_Operator, ...]


class _Run(BaseModel):
    """The keys of `/api/run` that are used here."""

    pipeline: _Pipeline
    policy: str
    mode: str
    finished: bool
    rounds: int
    paths: dict[str, PathTimes]
    requirements: tuple[Standing, ...]


class _Rounds(BaseModel):
    rounds: tuple[Frame, ...]


class PageWatcher:
    """Watches a run through its page (`mead run --serve`)."""

    def __init__(self, address: str, token: Token | None = None) -> None:
        self.address, self.token = address.rstrip("/"), token
        # The page is on this machine or behind a tunnel: no proxy.
        self._opener = build_opener(ProxyHandler({}))

    def snapshot(self) -> Snapshot:
        """The run as the page describes it."""
        run = self._get("/api/run", _Run)
        after = max(0, run.rounds - RECENT)
        frames = self._get(f"/api/rounds?after={after}&limit={RECENT}", _Rounds).rounds
        names = tuple(operator.name for operator in run.pipeline.operators)
        return Snapshot(
            run.pipeline.name, run.policy, run.mode, names, run.finished, frames, run.paths, run.requirements
        )

    def _get(self, path: str, kind: type[Answer]) -> Answer:
        try:
            request = Request(self.address + path)  # noqa: S310 - http or https
            if self.token is not None:
                request.add_unredirected_header("Authorization", f"Bearer {self.token.secret}")
            with self._opener.open(request, timeout=ANSWER_S) as response:
                text = response.read(MOST_BYTES + 1)
        except HTTPError as error:
            error.close()
            why = "the page needs another token: name its file by --token-file"
            if error.code != UNAUTHORIZED:
                why = f"no page of a run answers ({error})"
            raise WatchError(f"{self.address}: {why}") from error
        except (OSError, HTTPException, ValueError) as error:
            raise WatchError(f"{self.address}: no page of a run answers ({error})") from error
        if len(text) > MOST_BYTES:
            raise WatchError(f"{self.address}: this is not the page of a run (the answer is too long)")
        try:
            return kind.model_validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join((path.partition("?")[0], *map(str, first["loc"])))
            raise WatchError(f"{self.address}: this is not the page of a run ({place}: {first['msg']})") from error
