"""The case that ``mead solve`` takes, and the matrices that ``mead generate map`` takes."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from mead.keys import MOST_EDGES, MOST_OPERATORS, EdgeKey, Keys, Percent, Positive, parse

LARGEST_RATE = 1e30
"""Entries of matrices are zero or lie between this and its inverse: a fit may need very small ones."""

MOST_PHASES = 128
"""An Erlang distribution of more phases is a constant for all that a queue can tell."""

MOST_SERVERS = 100_000
MOST_STATES = 1024
MOST_PERCENTILES = 20


def _rectangular(rows: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], ...]:
    if len(rows) > MOST_STATES:
        raise ValueError(f"a matrix may have {MOST_STATES:,} rows; got {len(rows):,}")
    if len({len(row) for row in rows}) != 1:
        raise ValueError("the rows of a matrix must all have the same length, and there must be at least one")
    if any(rate and not 1 / LARGEST_RATE < abs(rate) < LARGEST_RATE for row in rows for rate in row):
        raise ValueError(f"rates must be 0 or lie between {1 / LARGEST_RATE:g} and {LARGEST_RATE:g}")
    return rows


Matrix = Annotated[tuple[tuple[float, ...], ...], AfterValidator(_rectangular)]


class ArrivalKeys(Keys):
    """The arrivals at every operator without a predecessor."""

    D0: Matrix | None = Field(default=None, description="rates of a MAP without an arrival, 1/s")
    D1: Matrix | None = Field(default=None, description="rates of a MAP with an arrival, 1/s")
    rate_per_s: Positive | None = Field(default=None, description="mean arrivals per second")
    scv: Annotated[float, Field(ge=0, le=1e6)] | None = Field(
        default=None,
        description="squared coefficient of variation of independent inter-arrival times; 1 for Poisson arrivals",
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        given = self.given
        if given not in ({"D0", "D1"}, {"rate_per_s", "scv"}):
            what = f"got {' and '.join(sorted(given))}" if given else "got neither"
            raise ValueError(f"give D0 and D1, or rate_per_s and scv; {what}")
        return self


class ServiceKeys(Keys):
    """The distribution of a service time: Erlang by its phases, or phase-type by ``alpha`` and ``T``."""

    type: Literal["erlang"] | None = Field(default=None, description="the sum of equal exponential phases")
    phases: Annotated[int, Field(ge=1, le=MOST_PHASES)] | None = Field(
        default=None, description="of the Erlang; default 2"
    )
    alpha: tuple[float, ...] | None = Field(
        default=None, description="initial distribution of a phase-type distribution"
    )
    T: Matrix | None = Field(default=None, description="sub-generator of a phase-type distribution, 1/s")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        given = self.given
        if "type" not in given and given != {"alpha", "T"}:
            raise ValueError('give {"type": "erlang", "phases": k}, or alpha and T')
        if "type" in given and given & {"alpha", "T"}:
            raise ValueError("an Erlang distribution is given by its phases, without alpha and T")
        return self


class OperatorKeys(Keys):
    """One processing step."""

    name: str = Field(description="unique in the case")
    mean_service_s: Positive | None = Field(
        None,
        description="CPU seconds per tuple at full share; alpha and T are scaled to it, or give the mean without it",
    )
    service: ServiceKeys = Field(
        default=ServiceKeys(type="erlang", phases=2), description="shape of the service time; default Erlang-2"
    )
    servers: Annotated[int, Field(ge=1, le=MOST_SERVERS)] = Field(
        default=1, description="parallel servers with one queue"
    )
    share: Positive = Field(default=1.0, description="CPU cores; the service time is mean_service_s / share")

    @model_validator(mode="after")
    def _mean_is_known(self) -> Self:
        if self.mean_service_s is None and self.service.alpha is None:
            raise ValueError("mean_service_s is missing: the CPU seconds that one tuple costs")
        return self


class SolveCase(Keys):
    """One queue or a network of queues, for ``mead solve``."""

    arrival: ArrivalKeys
    operators: Annotated[tuple[OperatorKeys, ...], Field(min_length=1, max_length=MOST_OPERATORS)]
    edges: Annotated[tuple[EdgeKey, ...], Field(max_length=MOST_EDGES)] = Field(
        default=(), description="[from, to, selectivity]; without the third element 1"
    )
    model: Literal["map", "mg1", "kingman", "mmk", "gigk"] = "map"
    percentiles: Annotated[tuple[Percent, ...], Field(max_length=MOST_PERCENTILES)] = Field(
        default=(50.0, 95.0, 99.0), description="each from 1 to 99.99999999"
    )


class MatricesFile(Keys):
    """A MAP by its two matrices, for ``mead generate map --matrices``."""

    D0: Matrix
    D1: Matrix


class _FitDocument(BaseModel):
    """The part of what ``mead fit --json`` prints that holds the matrices; other keys are not looked at."""

    model_config = ConfigDict(allow_inf_nan=False)

    class _Window(BaseModel):
        class _Model(BaseModel):
            D0: Matrix
            D1: Matrix

        maps: Annotated[tuple[_Model, ...], Field(min_length=1)]

    windows: Annotated[tuple[_Window, ...], Field(min_length=1)]


def matrices_in(text: bytes) -> MatricesFile:
    """D0 and D1 at the top of a JSON document, or those of the best model in what ``mead fit --json`` printed."""
    if b'"windows"' not in text:
        return parse(MatricesFile, text)
    best = parse(_FitDocument, text).windows[0].maps[0]
    return MatricesFile(D0=best.D0, D1=best.D1)
