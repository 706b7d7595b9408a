"""The web application: page, data, events and metrics of one run. Every route only reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from mead.queueing import InvalidNetworkError
from mead.reports.judge import CountedTimes
from mead.reports.live import Board, list_decisions, path_times
from mead.values import WINDOW_S
from mead.web import answers
from mead.web.current_question import current_question
from mead.web.events import EventId, Events
from mead.web.guard import METRICS, Guard, Hosts
from mead.web.model_process import BusyError, ModelProcess, TooSlowError, WithdrawnError
from mead.web.prometheus.exposition import exposition
from mead.web.prometheus.scrapes import Scrapes
from mead.web.question import Question, QuestionError
from mead.web.token import Token

STATIC = Path(__file__).parent / "static"
MOST_ROUNDS = 3600
MOST_DECISIONS = 1000


class Routes:
    """The routes of one board."""

    def __init__(self, board: Board, models: ModelProcess) -> None:
        self.board, self.models, self.events, self.scrapes = board, models, Events(board), Scrapes()

    def run(self, request: Request) -> Response:
        """The run, and the verdicts on its last window."""
        del request
        board, facts = self.board, self.board.facts
        recent = CountedTimes(board.recent(WINDOW_S))
        return JSONResponse(
            facts.as_json()
            | {
                "id": facts.id,
                "finished": board.finished,
                "rounds": board.totals.rounds,
                "changes": board.totals.changes,
                "arrivals": int(board.arrivals.size),
                "paths": {path: asdict(found) for path, found in path_times(board).items()},
                "requirements": [recent.whole(r).as_json(WINDOW_S) for r in facts.pipeline.requirements],
            }
        )

    def rounds(self, request: Request) -> Response:
        """The rounds after a number, oldest first."""
        after, limit = (
            _whole_number(request, "after", 0, 0, 2**53),
            _whole_number(request, "limit", MOST_ROUNDS, 1, MOST_ROUNDS),
        )
        return JSONResponse({"rounds": [frame.as_json() for frame in self.board.since(after, limit)]})

    def decisions(self, request: Request) -> Response:
        """The last decisions, oldest first, with their effects."""
        limit = _whole_number(request, "limit", 200, 1, MOST_DECISIONS)
        changes = _whole_number(request, "changes", 1, 0, 1)
        found = list_decisions(self.board.since(0), changes_only=bool(changes), limit=limit)
        return JSONResponse({"decisions": [one.as_json() for one in found]})

    async def workload(self, request: Request) -> Response:
        """The last arrivals and their best model."""
        return await self._compute(request, answers.workload, self.board.arrivals[-answers.FITTED_IATS :])

    async def what_if(self, request: Request) -> Response:
        """Predictions of the models for an allocation and arrivals."""
        return await self._ask_models(request, answers.prediction)

    async def frontier(self, request: Request) -> Response:
        """The cost of shorter and longer bounds."""
        return await self._ask_models(request, answers.frontier)

    def now(self, request: Request) -> Response:
        """The initial values of the sliders."""
        del request
        question = current_question(self.board)
        return JSONResponse(
            {
                "rate_per_s": question.rate_per_s,
                "idc": question.idc,
                "allocation": {name: asdict(held) for name, held in question.allocation.items()},
            }
        )

    def metrics(self, request: Request) -> Response:
        """The metrics, for Prometheus."""
        del request
        finished = self.board.finished  # read before the metrics, which contain it too
        answer = Response(exposition(self.board), media_type=CONTENT_TYPE_LATEST)
        self.scrapes.add(finished=finished)
        return answer

    async def stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Server-sent events. A client that reconnects names its last one, in a header or in the query."""
        request = Request(scope, receive)
        last = request.headers.get("last-event-id") or request.query_params.get("last", "")
        await self.events.serve(scope, receive, send, EventId.parse(last))

    async def _ask_models(self, request: Request, function: Callable[..., dict[str, Any]]) -> Response:
        pipeline = self.board.pipeline
        try:
            question = Question.parse(request.query_params.multi_items(), pipeline, current_question(self.board))
        except QuestionError as error:
            raise HTTPException(400, str(error)) from error
        return await self._compute(request, function, pipeline, question)

    async def _compute(self, request: Request, function: Callable[..., dict[str, Any]], *values: object) -> Response:
        """Ask the models in another thread, because the event loop has events to send."""
        loop = asyncio.get_running_loop()

        def wanted() -> bool:
            return not asyncio.run_coroutine_threadsafe(request.is_disconnected(), loop).result()

        try:
            return JSONResponse(await asyncio.to_thread(self.models.ask, function, *values, wanted=wanted))
        except (BusyError, WithdrawnError, TooSlowError) as error:
            raise HTTPException(503, str(error), {"Retry-After": "5"}) from error
        except InvalidNetworkError as error:
            raise HTTPException(422, str(error)) from error
        except Exception as error:  # the page shows it and goes on
            raise HTTPException(500, f"the models failed ({type(error).__name__}: {error})") from error


def application(board: Board, models: ModelProcess, hosts: Hosts, token: Token | None = None) -> tuple[ASGIApp, Routes]:
    """The application of one board for those hosts and clients with the token, and its routes."""
    routes = Routes(board, models)
    app = Starlette(
        routes=[
            Route("/", lambda _: FileResponse(STATIC / "index.html")),
            Route(METRICS, routes.metrics),
            Route("/events", _Asgi(routes.stream)),
            Route("/api/run", routes.run),
            Route("/api/rounds", routes.rounds),
            Route("/api/decisions", routes.decisions),
            Route("/api/workload", routes.workload),
            Route("/api/now", routes.now),
            Route("/api/what-if", routes.what_if),
            Route("/api/frontier", routes.frontier),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        exception_handlers={HTTPException: _error_response},
    )
    return Guard(app, hosts, token), routes


class _Asgi:
    """An ASGI application as a route."""

    def __init__(self, serve: Callable[[Scope, Receive, Send], Any]) -> None:
        self.serve = serve

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.serve(scope, receive, send)


def _error_response(request: Request, error: Exception) -> Response:
    """An error as one line of JSON."""
    del request
    assert isinstance(error, HTTPException)  # noqa: S101 - Starlette calls it for these
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


def _whole_number(request: Request, key: str, default: int, least: int, most: int) -> int:
    """A whole number from the query; an error if it is out of range."""
    text = request.query_params.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and least <= int(text) <= most):
        raise HTTPException(400, f"{key}: must be a whole number from {least} to {most}; got {text[:40]!a}")
    return int(text)
