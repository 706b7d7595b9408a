"""What ``mead allocate`` answers: a placement of processors, the rates of a network, or why there is neither."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias

from rich.table import Table

from mead.arrays import FloatArray, frozen
from mead.config.allocate_case import AllocateCase
from mead.keys import ConfigError
from mead.policies.drs.model import Model, OpenNetwork, Station
from mead.policies.drs.search import (
    InsufficientProcessors,
    Placement,
    TmaxUnreachable,
    assign_processors,
    min_processors,
)
from mead.queueing import UnstableLoop, arrival_rates
from mead.reports.tables import TimeUnit, number, plain_table

Refusal: TypeAlias = UnstableLoop | InsufficientProcessors | TmaxUnreachable


@dataclass(frozen=True)
class Allocated:
    """Processors, and the times that they bring."""

    network: OpenNetwork
    placement: Placement

    def as_json(self) -> dict[str, Any]:
        """The document."""
        k = self.placement.processors
        return {
            "k": list(k),
            "ET": self.placement.sojourn_s,
            "total": self.placement.total,
            "kmin": list(self.network.least),
            "ET_i": [time_s if isfinite(time_s) else None for time_s in self.network.sojourns_s(k)],
            "rho_i": [station.load / n for station, n in zip(self.network.stations, k, strict=True)],
        }

    def parts(self) -> Iterator[Table | str]:
        """Tables and sentences for people."""
        k, times_s = self.placement.processors, self.network.sojourns_s(self.placement.processors)
        unit = TimeUnit.of(times_s)
        table = plain_table(
            f"{self.placement.total} processors: E[T] = {number(self.placement.sojourn_s)} s, never below "
            f"{number(self.network.shortest_s)} s (model {self.network.model.value})",
            "operator",
            "processors",
            "at least",
            "utilization",
            f"time in {unit.name}",
        )
        for place, (station, n, time_s) in enumerate(zip(self.network.stations, k, times_s, strict=True)):
            table.add_row(str(place + 1), str(n), str(station.least), number(station.load / n), unit.show(time_s))
        yield table


@dataclass(frozen=True, eq=False)
class Rates:
    """Tuples per second, for a case that asks for nothing else."""

    rates_per_s: FloatArray
    external_per_s: float

    def as_json(self) -> dict[str, Any]:
        """The document."""
        return {
            "lambda_i": self.rates_per_s.tolist(),
            "lambda0": self.external_per_s,
            "visit": (self.rates_per_s / self.external_per_s).tolist(),
        }

    def parts(self) -> Iterator[Table | str]:
        """Tables and sentences for people."""
        table = plain_table(f"{number(self.external_per_s)} tuples/s from outside", "operator", "tuples/s", "visits")
        for place, rate_per_s in enumerate(self.rates_per_s.tolist()):
            table.add_row(str(place + 1), number(rate_per_s), number(rate_per_s / self.external_per_s))
        yield table


@dataclass(frozen=True)
class Refused:
    """There is no such placement. That is an answer, and no mistake in the question."""

    why: Refusal

    def as_json(self) -> dict[str, Any]:
        """The document."""
        details = {name: value for name in ("needed", "reason") if (value := getattr(self.why, name, None)) is not None}
        return {"error": {"type": type(self.why).__name__, "message": str(self.why)} | details}

    def parts(self) -> Iterator[Table | str]:
        """A sentence for people."""
        yield f"{type(self.why).__name__}: {self.why}"


def allocate(case: AllocateCase) -> Allocated | Rates | Refused:
    """Solve the case."""
    try:
        if case.gamma is not None and case.G is not None:
            found = Rates(arrival_rates(case.G, case.gamma), sum(case.gamma))
        else:
            found = Rates(frozen(case.lambda_i or ()), case.lambda0 or 0.0)
        if case.mu_i is None:
            return found
        ones = (1.0,) * len(case.mu_i)
        columns = zip(found.rates_per_s.tolist(), case.mu_i, case.a_i or ones, case.s_i or ones, strict=True)
        network = OpenNetwork(found.external_per_s, tuple(Station(*column) for column in columns), Model(case.model))
        if case.Kmax is not None:
            return Allocated(network, assign_processors(network, case.Kmax))
        assert case.Tmax is not None  # noqa: S101 - checked with the keys
        return Allocated(network, min_processors(network, case.Tmax, case.Kcap))
    except (UnstableLoop, InsufficientProcessors, TmaxUnreachable) as refusal:
        return Refused(refusal)
    except ValueError as error:
        raise ConfigError(str(error)) from error
