"""The answers of ``mead allocate``: a placement of processors, the rates of a network, or a refusal."""

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
class PlacementAnswer:
    """A placement of processors, and its sojourn times."""

    network: OpenNetwork
    placement: Placement

    def as_json(self) -> dict[str, Any]:
        """The document of `mead allocate --json`."""
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
        """Tables for a terminal."""
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
class RatesAnswer:
    """Tuples per second, for a case without service rates."""

    rates_per_s: FloatArray
    external_per_s: float

    def as_json(self) -> dict[str, Any]:
        """The document of `mead allocate --json`."""
        return {
            "lambda_i": self.rates_per_s.tolist(),
            "lambda0": self.external_per_s,
            "visit": (self.rates_per_s / self.external_per_s).tolist(),
        }

    def parts(self) -> Iterator[Table | str]:
        """Tables for a terminal."""
        table = plain_table(f"{number(self.external_per_s)} tuples/s from outside", "operator", "tuples/s", "visits")
        for place, rate_per_s in enumerate(self.rates_per_s.tolist()):
            table.add_row(str(place + 1), number(rate_per_s), number(rate_per_s / self.external_per_s))
        yield table


@dataclass(frozen=True)
class RefusalAnswer:
    """The reason why there is no placement. The case itself is valid."""

    why: Refusal

    def as_json(self) -> dict[str, Any]:
        """The document of `mead allocate --json`."""
        details = {name: value for name in ("needed", "reason") if (value := getattr(self.why, name, None)) is not None}
        return {"error": {"type": type(self.why).__name__, "message": str(self.why)} | details}

    def parts(self) -> Iterator[Table | str]:
        """A sentence for a terminal."""
        yield f"{type(self.why).__name__}: {self.why}"


def solve_allocation(case: AllocateCase) -> PlacementAnswer | RatesAnswer | RefusalAnswer:
    """Solve the case."""
    try:
        if case.gamma is not None and case.G is not None:
            found = RatesAnswer(arrival_rates(case.G, case.gamma), sum(case.gamma))
        else:
            found = RatesAnswer(frozen(case.lambda_i or ()), case.lambda0 or 0.0)
        if case.mu_i is None:
            return found
        ones = (1.0,) * len(case.mu_i)
        columns = zip(found.rates_per_s.tolist(), case.mu_i, case.a_i or ones, case.s_i or ones, strict=True)
        network = OpenNetwork(found.external_per_s, tuple(Station(*column) for column in columns), Model(case.model))
        if case.Kmax is not None:
            return PlacementAnswer(network, assign_processors(network, case.Kmax))
        assert case.Tmax is not None  # noqa: S101 - checked with the keys
        return PlacementAnswer(network, min_processors(network, case.Tmax, case.Kcap))
    except (UnstableLoop, InsufficientProcessors, TmaxUnreachable) as refusal:
        return RefusalAnswer(refusal)
    except ValueError as error:
        raise ConfigError(str(error)) from error
