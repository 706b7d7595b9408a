"""Single operators under one source: alone, and behind another operator that paces what they see."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mead.arrays import IntArray
from mead.queueing.map import MAP
from mead.queueing.network.departures import Departures, departures, phase_groups
from mead.queueing.network.graph import InvalidNetworkError
from mead.queueing.network.sojourn import Part, Queue, Sojourn
from mead.queueing.network.streams import Stream, batch_service, diluted, time_in_batch
from mead.queueing.ph import PH
from mead.queueing.queues.age_process import age_process
from mead.queueing.queues.response import overloaded

MOST_BATCH_PHASES = 8
MOST_BATCH_STATES = 64
"""Bounds on the phases of a batch's service, alone and times the source's states; that service is nearly constant."""

MOST_PHASES = 1024
"""Phases of one queue: states of its arrivals times phases of its service. Solving it takes their third power in time,
8 seconds for this many."""

MOST_QUEUES = 4
"""Queues of that size in one network."""


@dataclass(frozen=True, eq=False)
class Station:
    """An operator with what arrives at it."""

    service: PH
    """Service time of one tuple."""
    job: PH
    """Service time of all tuples together that one source tuple sends here."""
    stream: Stream
    utilization: float

    @property
    def overloaded(self) -> bool:
        """Whether more arrives than can be served."""
        return overloaded(self.utilization)

    def at(self, utilization: float) -> Station:
        """The same station, slower or faster."""
        factor = utilization / self.utilization
        return Station(self.service.scaled(factor), self.job.scaled(factor), self.stream, utilization)

    def alike(self, other: Station) -> bool:
        """Whether the two differ in nothing but speed."""
        return (
            self.stream == other.stream
            and np.array_equal(self.job.alpha, other.job.alpha)
            and np.allclose(self.job.T * self.job.mean_s, other.job.T * other.job.mean_s)
        )


@dataclass(eq=False)
class Source:
    """The arrivals that feed a network, and the queues of single stations that come from them."""

    arrivals: MAP
    _departures: dict[tuple[Station, float], Departures] = field(default_factory=dict)
    _work: float = 0.0
    """Third powers of the phases of all queues that were solved."""

    def station(self, service: PH, stream: Stream) -> Station:
        """An operator of this service that gets this stream."""
        phases = max(2, min(MOST_BATCH_PHASES, MOST_BATCH_STATES // self.arrivals.states))
        job = batch_service(service, stream.batch, phases)
        return Station(service, job, stream, self.arrivals.rate_per_s * stream.keep * job.mean_s)

    def alone(self, stations: Sequence[Station]) -> list[Sojourn]:
        """The times at stable stations, each fed by the source itself: exact for single tuples."""
        inputs = [Departures.memoryless(self._thinned(station.stream.keep)) for station in stations]
        queues = self._solved(inputs, stations)
        return [_sojourn(s, queue, s.stream.batch) for s, queue in zip(stations, queues, strict=True)]

    def behind(self, pacer: Station, stations: Sequence[Station]) -> list[Sojourn]:
        """The times at stable stations that see the departures of another one."""
        queues = self._solved([self._departures_to(station, pacer) for station in stations], stations)
        return [
            # Tuples of one batch leave the pacer one by one, so they do not meet again.
            _sojourn(station, queue, max(station.stream.batch / pacer.stream.batch, 1.0))
            for station, queue in zip(stations, queues, strict=True)
        ]

    def _departures_to(self, station: Station, pacer: Station) -> Departures:
        """The departures of ``pacer``, at the rate at which ``station`` gets tuples."""
        keep, reference = station.stream.keep, pacer.stream.keep
        if pacer.overloaded:
            ratio = keep * pacer.utilization / reference
            departing = Departures.saturated(pacer.job)
            return departing.thinned(ratio) if ratio <= 1 else departing.scaled(ratio)
        if self.arrivals.states == pacer.job.phases == 1:
            # Poisson stays Poisson behind exponential servers, whatever is left behind (Burke 1956, Jackson 1957).
            return Departures.memoryless(self._thinned(keep))
        whole = max(keep, reference)
        if (pacer, whole) not in self._departures:
            # Tuples that only the station gets pass the pacer without service.
            service = pacer.job if keep <= reference else diluted(pacer.job, reference / keep)
            self._check_size(self.arrivals.states * service.phases)
            self._departures[pacer, whole] = departures(self._thinned(whole), service, self._groups)
        return self._departures[pacer, whole].thinned(keep / whole)

    def _thinned(self, keep: float) -> MAP:
        return self.arrivals if keep == 1 else self.arrivals.thinned(keep)

    @cached_property
    def _groups(self) -> IntArray:
        return phase_groups(self.arrivals)

    def _solved(self, inputs: Sequence[Departures], stations: Sequence[Station]) -> list[Queue]:
        """The queues of stable stations, each with its input; those of one form are solved together."""
        alike: dict[tuple[bytes, int], list[int]] = defaultdict(list)
        for index, (stream, station) in enumerate(zip(inputs, stations, strict=True)):
            alike[stream.D1.any(axis=0).tobytes(), station.job.phases].append(index)
        solved: dict[int, Queue] = {}
        for indices in alike.values():
            jobs = [stations[i].job for i in indices]
            for i, job in zip(indices, jobs, strict=True):
                self._check_size(max(inputs[i].D0.shape[0], int(inputs[i].D1.any(axis=0).sum()) * job.phases))
            ages = age_process(
                np.stack([inputs[i].D0 * job.mean_s for i, job in zip(indices, jobs, strict=True)]),
                np.stack([inputs[i].D1 * job.mean_s for i, job in zip(indices, jobs, strict=True)]),
                np.stack([job.alpha for job in jobs]),
                np.stack([job.T * job.mean_s for job in jobs]),
            )
            for row, (i, job) in enumerate(zip(indices, jobs, strict=True)):
                landing = inputs[i].depth[inputs[i].D1.any(axis=0)]
                depth = np.repeat(landing, job.phases)
                # The age process runs in mean service times; b is a mass, which takes the unit that e gives away.
                solved[i] = Queue(ages.b[row] * job.mean_s, ages.K[row] / job.mean_s, ages.e[row] / job.mean_s, depth)
        return [solved[index] for index in range(len(inputs))]

    def _check_size(self, phases: int) -> None:
        """Refuse a queue, or a network of them, that would take minutes and gigabytes."""
        self._work += phases**3
        if phases > MOST_PHASES or self._work > MOST_QUEUES * MOST_PHASES**3:
            raise InvalidNetworkError(
                f"a queue of {phases:,} phases, the states of its arrivals times the phases of its service, is too "
                f"large: one may have {MOST_PHASES:,}, and a network {MOST_QUEUES} of that size. Give services fewer "
                "phases or arrivals fewer states, or use the model 'mg1', 'kingman' or 'gigk'"
            )


def _sojourn(station: Station, queue: Queue, batch: float) -> Sojourn:
    """The time of one tuple in a queue of whole batches, of which it meets ``batch`` tuples at once."""
    if station.stream.batch == 1:
        return Sojourn((Part.of_response(queue),))
    return Sojourn((Part.of_wait(queue), Part.of_service(time_in_batch(station.service, batch))))
