"""From the machine's records to an observation: what a monitor beside a real engine would have seen."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mead.arrays import FloatArray, frozen
from mead.simulator.machine import Machine
from mead.simulator.records import Records
from mead.values import (
    COUNT_BIN_S,
    NOTHING_SAMPLED,
    Allocation,
    InputReading,
    Observation,
    OperatorReading,
    PathReading,
    Pipeline,
    SampledTimes,
    late_bound_s,
)
from mead.workload import Trace

COUNTED_BINS = round(600 / COUNT_BIN_S)
BIN_US = round(COUNT_BIN_S * 1e6)
SAMPLED_FIELDS = (("iats", "iat_sum_s", "iat_squares_s2"), ("services", "service_sum_s", "service_squares_s2"))
"""Fields of a record: number, sum and sum of squares of the recorded times."""


class Monitor:
    """Reports the readings since its last report."""

    def __init__(self, pipeline: Pipeline, trace: Trace, kept_iats: int) -> None:
        self.pipeline, self.trace, self.kept_iats = pipeline, trace, kept_iats
        self.bounds_s = _bounds_s(pipeline)
        self.time_s = 0.0
        self.departed = 0
        self.inputs = InputReading(0, 0.0)
        self.counts = np.empty(0)
        self.counted_bins = 0
        self.totals = {operator.name: (0, 0, 0.0) for operator in pipeline.operators}
        self.sampled = {operator.name: [NOTHING_SAMPLED] * 2 for operator in pipeline.operators}

    def observe(self, machine: Machine, now_s: float, allocation: Allocation) -> Observation:
        """Everything since the last call."""
        interval_s, self.time_s = now_s - self.time_s, now_s
        arrived = machine.arrived
        return Observation(
            time_s=now_s,
            interval_s=interval_s,
            allocation=allocation,
            operators=self._operators(machine, now_s),
            paths=self._paths(machine),
            iats_s=self.trace.iats_s[max(0, arrived - 1 - self.kept_iats) : max(0, arrived - 1)],
            counts=self._counts(now_s),
            inputs=self._inputs(machine),
        )

    def _operators(self, machine: Machine, now_s: float) -> dict[str, OperatorReading]:
        readings = {}
        for place, (name, before) in enumerate(self.totals.items()):
            record = machine.operators[place]
            now = (int(record["arrived"]), machine.completed(place), machine.cpu_s(place, now_s))
            served = [_sampled(machine.operators[member], *SAMPLED_FIELDS[1]) for member in machine.members[place]]
            sampled = [_sampled(record, *SAMPLED_FIELDS[0]), sum(served, NOTHING_SAMPLED)]
            readings[name] = OperatorReading(
                now[0] - before[0],
                now[1] - before[1],
                machine.backlog(place),
                now[2] - before[2],
                iats=sampled[0].since(self.sampled[name][0]),
                services=sampled[1].since(self.sampled[name][1]),
            )
            self.totals[name], self.sampled[name] = now, sampled
        return readings

    def _paths(self, machine: Machine) -> Mapping[str, PathReading]:
        departed = int(machine.clock["departed"][0])
        new = machine.log[self.departed : departed]
        self.departed = departed
        count = len(self.pipeline.paths)
        late = new["response_s"] > self.bounds_s[new["path"]]
        sums = [np.bincount(new["path"], weights, count) for weights in (None, new["response_s"], late)]
        return {
            path: PathReading(int(completed), float(response_s), int(late), self._beyond(path, place, new))
            for place, (path, completed, response_s, late) in enumerate(zip(self.pipeline.paths, *sums, strict=True))
        }

    def _inputs(self, machine: Machine) -> InputReading:
        clock, before = machine.clock[0], self.inputs
        self.inputs = InputReading(int(clock["inputs"]), float(clock["input_sum_s"]))
        new_s = self.inputs.response_sum_s - before.response_sum_s
        return InputReading(self.inputs.completed - before.completed, new_s)

    def _beyond(self, path: str, place: int, new: Records) -> dict[float, int]:
        bounds_s = [r.bound_s for r in self.pipeline.requirements if r.path == path and r.percent is not None]
        return {b: int(((new["path"] == place) & (new["response_s"] > b)).sum()) for b in bounds_s}

    def _counts(self, now_s: float) -> FloatArray:
        """Arrivals in whole bins, on a grid that starts with the first arrival.

        A bin that is not over is left out.
        """
        end = int(now_s / COUNT_BIN_S + 1e-6)  # 0.3 / 0.1 rounds down
        first = max(self.counted_bins, end - COUNTED_BINS)
        stamps_us = self.trace.timestamps_us
        bounds_us = stamps_us[0] + np.array([first, end]) * BIN_US
        new_us = stamps_us[slice(*np.searchsorted(stamps_us, bounds_us))] - bounds_us[0]
        new = np.bincount(new_us // BIN_US, minlength=end - first)
        self.counted_bins = end
        self.counts = frozen(np.concatenate([self.counts, new])[-COUNTED_BINS:])
        return self.counts


def _sampled(record: np.void, count: str, total_s: str, squares_s2: str) -> SampledTimes:
    return SampledTimes(int(record[count]), float(record[total_s]), float(record[squares_s2]))


def _bounds_s(pipeline: Pipeline) -> FloatArray:
    """Per path, the response time beyond which a tuple is late; infinite where nothing is required."""
    bounds_s = [late_bound_s(r for r in pipeline.requirements if r.path == path) for path in pipeline.paths]
    return np.array([np.inf if bound_s is None else bound_s for bound_s in bounds_s])
