"""The random numbers of a simulation, drawn from NumPy in blocks and handed to the kernel.

Every operator and every edge has a generator of its own, made from the seed and its name. So the demand of the i-th
tuple at an operator depends on the seed, the operator and i, and on nothing else: two policies on one seed meet the
same demands (common random numbers), and an operator that is added elsewhere changes none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from mead.arrays import FloatArray
from mead.queueing import PATH_SEPARATOR, PH
from mead.simulator.records import Records
from mead.values import Operator, Pipeline

FIRST_BLOCK, LAST_BLOCK = 256, 16_384
"""Blocks double from the first size to the last, so that a short run draws little and a long one seldom."""


class Buffers:
    """Random numbers that have been drawn and not yet used.

    There is one row per operator or edge, refilled at its own pace.

    ``records`` count per row what was ``drawn`` of the ``draws`` in it. A row of fewer than ``least`` gets a new block.
    """

    def __init__(self, records: Records, sequences: list[Iterator[FloatArray]], least: int) -> None:
        self.records, self.sequences, self.least = records, sequences, least
        self.values = np.zeros((len(sequences), least + LAST_BLOCK))
        self.refill()

    def refill(self) -> None:
        """Move what is left of a short row to its front, and draw the next block behind it."""
        for record, row, blocks in zip(self.records, self.values, self.sequences, strict=True):
            while (left := int(record["draws"] - record["drawn"])) < self.least:
                block = next(blocks)
                row[:left] = row[record["drawn"] : record["draws"]]
                row[left : left + block.size] = block
                record["drawn"], record["draws"] = 0, left + block.size


def demand_blocks(operator: Operator, seed: int, factor: float = 1.0) -> Iterator[FloatArray]:
    """CPU seconds of the tuples of an operator, in order of arrival.

    They are ``factor`` times the declared ones.

    Distributed as ``PH.with_moments(demand_s, scv)``. Only an SCV of exactly 0 is taken at its word, as a constant.
    """
    mean_s = operator.demand_s * factor
    if operator.scv == 0:
        return _blocks(seed, operator.name, lambda _, count: np.full(count, mean_s))
    service = PH.with_moments(mean_s, operator.scv)
    sample = _hyperexponential if operator.scv > 1 else _erlang_mixture
    return _blocks(seed, operator.name, lambda rng, count: sample(service, count, rng))


def coin_blocks(source: str, target: str, seed: int) -> Iterator[FloatArray]:
    """Uniform numbers that decide how many tuples go on to ``target``.

    They come in the order in which tuples leave ``source``.
    """
    return _blocks(seed, f"{source}{PATH_SEPARATOR}{target}", lambda rng, count: rng.random(count))


def demands_s(pipeline: Pipeline, name: str, count: int, seed: int) -> FloatArray:
    """The first ``count`` demands at an operator, as a simulation with that seed meets them.

    >>> from mead.values.pipeline import Operator
    >>> pipeline = Pipeline("constant", [Operator("matcher", 0.0015, scv=0.0)])
    >>> demands_s(pipeline, "matcher", 3, seed=1).tolist()
    [0.0015, 0.0015, 0.0015]
    """
    drawn = [np.empty(0)]
    for block in demand_blocks(pipeline.operator(name), seed):
        drawn.append(block)
        if sum(b.size for b in drawn) >= count:
            break
    return np.concatenate(drawn)[:count]


def _blocks(seed: int, name: str, sample: Callable[[np.random.Generator, int], FloatArray]) -> Iterator[FloatArray]:
    """Blocks of growing size from a generator that belongs to seed and name."""
    rng = np.random.default_rng([seed, *name.encode()])
    size = FIRST_BLOCK
    while True:
        yield sample(rng, size)
        size = min(2 * size, LAST_BLOCK)


def _erlang_mixture(service: PH, count: int, rng: np.random.Generator) -> FloatArray:
    """Samples of a mixture of two Erlangs at one rate.

    Each is a gamma variable of whole shape; some tuples skip the first phase.
    """
    shorter = service.alpha[1] if service.phases > 1 else 0.0
    shape = service.phases - (rng.random(count) < shorter) if shorter > 0 else float(service.phases)
    return np.asarray(rng.standard_gamma(shape, count) / -service.T[0, 0])


def _hyperexponential(service: PH, count: int, rng: np.random.Generator) -> FloatArray:
    """One of two exponentials."""
    rates = np.where(rng.random(count) < service.alpha[0], -service.T[0, 0], -service.T[1, 1])
    return np.asarray(rng.standard_exponential(count) / rates)
