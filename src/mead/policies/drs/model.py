"""The performance model of DRS: an open network of queues, and its sojourn time.

Fu et al. 2017.

The paper serves tuple by tuple. An operator in micro-batches has its queue, and before it the wait for a micro-batch to
begin and to end (`mead.queueing.queues.split_batch`). Of that, what processors shorten belongs to the sojourn time. The
*gate*, which they do not shorten, is kept apart: it is no reason to add any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import floor, inf, isfinite

from mead.queueing import SATURATED, Unstable, batch_wait_s, gate_s, gigk, overloaded
from mead.values import Batches


class Model(Enum):
    """Formulas for the time that a tuple spends at an operator."""

    MMK = "mmk"
    """M/M/k, eq. 1-3: exact for Poisson arrivals and exponential services."""
    GIGK = "ggk_ac"
    """GI/G/k, eq. 5: the queue of M/M/k times ``(a + s) / 2``."""
    WHITT = "ggk_whitt"
    """Eq. 5 with the refinement of Whitt (1993), for which optimality of the search is observed and not proved."""


@dataclass(frozen=True)
class Station:
    """One operator: what arrives, and what one processor can do. SCVs are squared coefficients of variation."""

    rate_per_s: float
    service_per_s: float
    arrival_scv: float = 1.0
    service_scv: float = 1.0
    batches: Batches | None = None
    """None: it serves tuple by tuple."""

    def __post_init__(self) -> None:
        if not 0 <= self.rate_per_s < inf:
            raise ValueError(f"an arrival rate must be finite and not negative; got {self.rate_per_s:g} per second")
        if not 0 < self.service_per_s < inf:
            raise ValueError(f"a service rate must be finite and above 0; got {self.service_per_s:g} per second")
        if not (0 <= self.arrival_scv < inf and 0 <= self.service_scv < inf):
            raise ValueError(f"an SCV must be finite and not negative; got {self.arrival_scv:g}, {self.service_scv:g}")

    @property
    def load(self) -> float:
        """Processors that are busy in the mean."""
        return self.rate_per_s / self.service_per_s

    @property
    def least(self) -> int:
        """The fewest processors that keep up.

        They exceed the load (Algorithm 1, line 2) by as much as the queues need.

        A load that rounding has left just below a whole number is that number: 0.3 / 0.1 is three.

        >>> Station(6.0, 2.0).least, Station(5.9, 2.0).least, Station(0.0, 2.0).least
        (4, 3, 1)
        """
        fewest = floor(self.load / SATURATED) + 1
        return fewest + overloaded(self.load / fewest)

    @property
    def gate_s(self) -> float:
        """The part of a micro-batch that processors do not shorten; 0 for tuple by tuple."""
        if self.batches is None:
            return 0.0
        return gate_s(self.rate_per_s, 1 / self.service_per_s, self.batches.overhead_s, self.batches.trigger_s or 0.0)

    def batch_wait_s(self, processors: int) -> float:
        """The part of a micro-batch that more processors would shorten; 0 for tuple by tuple."""
        if self.batches is None:
            return 0.0
        overhead_s, trigger_s = self.batches.overhead_s, self.batches.trigger_s or 0.0
        return batch_wait_s(self.load, 1 / self.service_per_s, overhead_s, trigger_s, processors)


@dataclass(frozen=True)
class OpenNetwork:
    """Operators with what reaches each of them for ``external_per_s`` tuples from outside.

    >>> vld = OpenNetwork(12.0, (Station(12.0, 40 / 9), Station(720.0, 720 / 3.648), Station(48.0, 2500.0)))
    >>> vld.least, round(vld.shortest_s, 4), round(vld.sojourn_s((4, 5, 1)), 4)
    ((3, 4, 1), 0.5306, 0.6942)
    """

    external_per_s: float
    stations: tuple[Station, ...]
    model: Model = Model.MMK

    def __post_init__(self) -> None:
        if not (isfinite(self.external_per_s) and self.external_per_s > 0):
            raise ValueError(f"the rate from outside must be finite and above 0; got {self.external_per_s:g}")
        if not self.stations:
            raise ValueError("a network needs at least one operator")

    @cached_property
    def least(self) -> tuple[int, ...]:
        """The fewest processors with which no queue grows without end."""
        return tuple(station.least for station in self.stations)

    @cached_property
    def shortest_s(self) -> float:
        """The sojourn time without any waiting: ``sum(l_i / m_i) / l_0``.

        The lower bound of Algorithm 2 is printed as ``sum(1 / m_i)``, which forgets how often a tuple visits an
        operator. It refuses targets that can be met, and searches without end for some that cannot.
        """
        return sum(station.load for station in self.stations) / self.external_per_s

    @cached_property
    def queues(self) -> bool:
        """Whether anything can ever wait: not if arrivals and services are all constant."""
        return any(
            station.load > 0 and (self.model is Model.MMK or station.arrival_scv + station.service_scv > 0)
            for station in self.stations
        )

    def sojourns_s(self, processors: Sequence[int]) -> tuple[float, ...]:
        """Mean time at every operator (eq. 1 or 5), without its gate; infinite where it is overloaded."""
        return tuple(self._sojourn_s(s, k) for s, k in zip(self.stations, processors, strict=True))

    def sojourn_s(self, processors: Sequence[int]) -> float:
        """E[T] of eq. 4: the times of all tuples that come of one input, added up."""
        times_s = self.sojourns_s(processors)
        if any(s.rate_per_s > 0 and not isfinite(t) for s, t in zip(self.stations, times_s, strict=True)):
            return inf
        inside = sum(s.rate_per_s * t for s, t in zip(self.stations, times_s, strict=True) if s.rate_per_s > 0)
        return inside / self.external_per_s

    def pause_s(self, processors: Sequence[int], downtime_s: float, horizon_s: float) -> float:
        """Mean time that a standstill of ``downtime_s`` adds to every input of the next ``horizon_s``.

        Inputs gather for ``d`` seconds at rate l and leave at the rate l / rho of the busiest operator, so that
        ``l d^2 / (2 (1 - rho))`` seconds of waiting are spread over ``l H`` inputs. Infinite without spare processors.

        >>> OpenNetwork(5.0, (Station(5.0, 10.0),)).pause_s((1,), downtime_s=6.0, horizon_s=360.0)
        0.1
        """
        if downtime_s == 0:
            return 0.0
        spare = 1 - max(station.load / k for station, k in zip(self.stations, processors, strict=True))
        return downtime_s**2 / (2 * horizon_s * spare) if spare > 0 else inf

    def _sojourn_s(self, station: Station, processors: int) -> float:
        a, s = (1.0, 1.0) if self.model is Model.MMK else (station.arrival_scv, station.service_scv)
        refined = self.model is Model.WHITT
        solved = gigk(station.rate_per_s, a, 1 / station.service_per_s, s, processors, refined=refined)
        return inf if isinstance(solved, Unstable) else solved.mean_s + station.batch_wait_s(processors)
