from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mead.arrays import FloatArray, IntArray
from mead.policies.adaptive.decision import backlogs
from mead.policies.adaptive.kernel import Rule, costs_at, decide, follow, stays_s

BIN_S, DEMAND_S = 0.1, 0.002
LEVELS = np.array([0.4, 0.7, 1.0])
ALWAYS_FIRST = np.zeros(1, dtype=np.int64)


def rule(
    costs: FloatArray, *, overhead_s: float = 0.0, trigger_s: float = 0.0, max_tuples: float = inf, gate_s: float = 0.0
) -> Rule:
    cores = LEVELS[-costs.shape[2] :]
    return Rule(
        period_s=1.0,
        demand_s=DEMAND_S,
        gate_s=gate_s,
        shares=cores,
        replicas=np.ones(cores.size),
        cores=cores,
        rents=cores,
        speeds=cores,
        overhead_s=overhead_s,
        trigger_s=trigger_s,
        max_tuples=max_tuples,
        rates=np.geomspace(50.0, 800.0, costs.shape[0]),
        smoothing=0.3,
        most_work=2.0,
        change_costs=0.2 * (1 - np.eye(cores.size)),
        costs=costs,
        partners=np.zeros((cores.size, cores.size), dtype=np.int64),
        sooner=0,
        ready=1.0,
    )


def random_costs(seed: int) -> FloatArray:
    return np.random.default_rng(seed).uniform(0.0, 1.0, (4, 32, LEVELS.size))


def interpolated(costs: FloatArray, work: float, rate: float, used: Rule) -> list[float]:
    """The costs of every level: first between backlogs, then between rates; beyond the ends, the last rate counts."""
    grid = backlogs(used.most_work)
    v = next((i for i in range(30) if grid[i + 1] > work), 30)
    g = (work - grid[v]) / (grid[v + 1] - grid[v])
    rows = [[(1 - g) * costs[i, v, level] + g * costs[i, v + 1, level] for i in range(4)] for level in range(3)]
    return [float(np.interp(rate, used.rates, row)) for row in rows]


def best_level(used: Rule, work: float, rate: float, now: int) -> int:
    costs = interpolated(used.costs, work, rate, used)
    return min(range(3), key=lambda level: costs[level] + used.change_costs[now, level])


def naive_loop(
    used: Rule, counts: FloatArray, inflow: FloatArray, work: float, pending: Sequence[int]
) -> tuple[list[float], list[float], int]:
    outflow, cores, ordered = [], [], list(pending)
    rate, changes = 0.0, 0
    for k in range(inflow.size // 10):
        level = ordered[k]
        for b in range(10 * k, 10 * k + 10):
            work += inflow[b] * DEMAND_S
            done = min(work, used.speeds[level] * BIN_S)
            work -= done
            outflow.append(done / DEMAND_S)
            cores.append(used.cores[level])
        rate += max(0.3, 1 / (k + 1)) * (counts[10 * k : 10 * k + 10].sum() - rate)
        foreseen = work
        for later in ordered[k + 1 :]:
            foreseen = max(foreseen + rate * DEMAND_S - used.speeds[later], 0.0)
        ordered.append(best_level(used, foreseen, rate, ordered[-1]))
        changes += ordered[-1] != ordered[-2]
    return outflow, cores, changes


def arrivals(seed: int, bins: int, rate_per_s: float = 350.0) -> FloatArray:
    """In short bursts."""
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.5, 2 * rate_per_s * BIN_S, bins)).astype(float)


@pytest.mark.parametrize("pending", [[0], [2, 0], [2, 1, 0, 1]], ids=["at once", "after 1", "after 3 periods"])
@settings(max_examples=25)
@given(seed=st.integers(0, 1000), work=st.floats(0.0, 3.0))
def test_the_closed_loop_is_that_of_a_plain_loop(pending: list[int], seed: int, work: float) -> None:
    used, inflow = rule(random_costs(seed)), arrivals(seed, 200)
    counts = inflow * 0.5  # the rate may be measured elsewhere than at the operator
    outflow, levels, changes = follow(used, counts, inflow, BIN_S, work, np.array(pending))
    expected = naive_loop(used, counts, inflow, work, pending)
    assert used.cores[levels].tolist() == expected[1]
    assert outflow == pytest.approx(np.array(expected[0]), abs=1e-6)
    assert changes == expected[2]


def test_what_is_left_of_the_last_period_is_served_too() -> None:
    used, inflow = rule(random_costs(1)), arrivals(1, 57)
    outflow, levels, _ = follow(used, inflow, inflow, BIN_S, 0.0, np.array([2]))
    cores = used.cores[levels]
    whole, _, _ = follow(used, inflow[:50], inflow[:50], BIN_S, 0.0, np.array([2]))
    assert outflow[:50].tolist() == whole.tolist()
    assert set(cores[50:]) <= set(LEVELS)
    left = inflow[:50].sum() - whole.sum()
    for b in range(50, 57):  # the level of the last seven bins is one
        expected = min(left + inflow[b], cores[50] * BIN_S / DEMAND_S)
        assert outflow[b] == pytest.approx(expected)
        left += inflow[b] - expected


@given(work=st.floats(0.0, 3.0), rate=st.floats(1.0, 2000.0), now=st.integers(0, 2), seed=st.integers(0, 50))
def test_a_decision_takes_the_cheapest_level_where_the_backlog_will_be(
    work: float, rate: float, now: int, seed: int
) -> None:
    used = rule(random_costs(seed))
    assert decide(used, work, rate, np.array([now])) == best_level(used, work, rate, now)
    foreseen = work
    for level in (now, 0):
        foreseen = max(foreseen + rate * DEMAND_S - LEVELS[level], 0.0)
    assert decide(used, work, rate, np.array([now, 0, 2])) == best_level(used, foreseen, rate, 2)


@given(work=st.floats(0.0, 3.0), rate=st.floats(1.0, 2000.0), seed=st.integers(0, 50))
def test_what_a_decision_compares_lies_between_the_points_of_the_grid(work: float, rate: float, seed: int) -> None:
    used = rule(random_costs(seed))
    assert costs_at(used, work, rate) == pytest.approx(np.array(interpolated(used.costs, work, rate, used)), abs=1e-9)


@settings(max_examples=40)
@given(
    held=st.floats(0.0, 500.0),
    overhead_s=st.sampled_from([0.0, 0.04]),
    trigger_s=st.sampled_from([0.0, 0.25, 1.3]),
    max_tuples=st.sampled_from([inf, 200.0]),
    seed=st.integers(0, 1000),
)
def test_nothing_is_lost_and_nothing_leaves_before_it_came(
    held: float, overhead_s: float, trigger_s: float, max_tuples: float, seed: int
) -> None:
    used = rule(
        random_costs(seed),
        overhead_s=overhead_s,
        gate_s=1.5 * overhead_s,
        trigger_s=trigger_s,
        max_tuples=max_tuples,
    )
    inflow = arrivals(seed, 150)
    quiet = np.concatenate([inflow, np.zeros(600)])
    outflow, _, _ = follow(used, quiet, quiet, BIN_S, held * DEMAND_S, np.array([2]))
    left = held + np.cumsum(quiet) - np.cumsum(outflow)
    assert (outflow >= 0).all()
    assert left.min() > -1e-6
    assert left[-1] < 1 + 1e-6  # part of a tuple never starts a batch
    assert outflow.sum() == pytest.approx(held + inflow.sum() - left[-1])


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), held=st.integers(0, 300))
def test_stays_are_those_of_tuples_served_one_after_the_other(seed: int, held: int) -> None:
    inflow = arrivals(seed, 200, rate_per_s=300.0)
    used = rule(np.zeros((4, 32, 1)))
    outflow, _, _ = follow(used, inflow, inflow, BIN_S, held * DEMAND_S, ALWAYS_FIRST)
    stays = stays_s(float(held), inflow, outflow, BIN_S, 1.0 / DEMAND_S)
    free_s, late = held * DEMAND_S, []
    for b, count in enumerate(inflow):
        total = 0.0
        for i in range(int(count)):
            arrival_s = (b + (i + 0.5) / count) * BIN_S
            free_s = max(free_s, arrival_s) + DEMAND_S
            total += free_s - arrival_s
        if count:
            late.append((stays[b], total / count))
    found, exact = np.array(late).T
    assert np.abs(found - exact).max() < BIN_S  # a fluid within a bin, tuples here
    weights = inflow[inflow > 0]
    assert np.average(found, weights=weights) == pytest.approx(np.average(exact, weights=weights), abs=0.02, rel=0.02)


def test_what_has_not_left_at_the_end_goes_at_the_last_rate() -> None:
    inflow, outflow = np.array([10.0, 0.0]), np.array([2.0, 2.0])
    # Half of the ten are gone when five are: four in two bins, one more at 20 per s.
    assert stays_s(0.0, inflow, outflow, BIN_S, 20.0)[0] == pytest.approx(0.2 + 0.05 - 0.05)


def batches(
    times_s: FloatArray, overhead_s: float, trigger_s: float, max_tuples: float
) -> tuple[FloatArray, list[tuple[float, int]]]:
    """Response times of a batch server that looks at every batch, and when each ended with how many tuples."""
    response_s, ends = np.empty(times_s.size), []
    first, start_s, end_s = 0, -1.0, 0.0
    while first < times_s.size:
        earliest_s = end_s
        if trigger_s:
            earliest_s = max(end_s, (floor(start_s / trigger_s + 1e-9) + 1) * trigger_s)
        start_s = max(earliest_s, times_s[first])
        if trigger_s and times_s[first] > earliest_s:
            start_s = ceil(times_s[first] / trigger_s - 1e-9) * trigger_s
        waiting = int(np.searchsorted(times_s, start_s, side="right")) - first
        size = int(min(waiting, max_tuples))
        end_s = start_s + overhead_s + size * DEMAND_S
        response_s[first : first + size] = end_s - times_s[first : first + size]
        ends.append((end_s, size))
        first += size
    return response_s, ends


@pytest.mark.parametrize("trigger_s", [0.0, 0.1, 0.37, 2.0])
@pytest.mark.parametrize("max_tuples", [inf, 60])
@pytest.mark.parametrize("overhead_s", [0.04, 0.3])
@pytest.mark.parametrize("rate_per_s", [3.0, 150.0, 400.0])
def test_micro_batches_are_those_of_an_exact_batch_server(
    rate_per_s: float, overhead_s: float, max_tuples: float, trigger_s: float
) -> None:
    if rate_per_s * max(trigger_s, overhead_s + 60 * DEMAND_S) > 0.95 * max_tuples:
        rate_per_s = 0.8 * 60 / max(trigger_s, overhead_s + 60 * DEMAND_S)
    inflow = np.random.default_rng(11).poisson(rate_per_s * BIN_S, 3000).astype(float)
    counts = [(b, n) for b, n in enumerate(inflow.astype(int)) if n]
    # A tuple of a fluid is there when all of it is; on average, its parts are there half a tuple earlier.
    times_s = np.concatenate([(b + np.arange(1, n + 1) / n) * BIN_S for b, n in counts])
    response_s, ends = batches(times_s, overhead_s, trigger_s, max_tuples)
    response_s += np.concatenate([np.full(n, 0.5 / n) * BIN_S for _, n in counts])
    used = rule(
        np.zeros((4, 32, 1)), overhead_s=overhead_s, gate_s=0.1, trigger_s=trigger_s, max_tuples=float(max_tuples)
    )
    outflow, _, _ = follow(used, inflow, inflow, BIN_S, 0.0, ALWAYS_FIRST)
    exact = np.zeros(3000)
    for end_s, size in ends:
        if end_s < 300:
            exact[int(end_s / BIN_S)] += size
    apart = np.abs(np.cumsum(outflow) - np.cumsum(exact))
    assert np.quantile(apart, 0.9) <= 2 + 0.1 * min(max_tuples, rate_per_s)
    stays = stays_s(0.0, inflow, outflow, BIN_S, 1 / DEMAND_S)
    mean_s = float(stays @ inflow / inflow.sum())
    assert mean_s == pytest.approx(response_s.mean(), rel=0.05, abs=0.5 * BIN_S)


def test_a_batch_that_runs_past_its_trigger_is_followed_at_once() -> None:
    inflow = np.full(300, 40.0)  # batches of more than the trigger's 0.5 s
    used = rule(np.zeros((4, 32, 1)), overhead_s=0.3, gate_s=0.45, trigger_s=0.5)
    free = used._replace(trigger_s=0.0)
    triggered, freely = (follow(r, inflow, inflow, BIN_S, 0.0, ALWAYS_FIRST)[0] for r in (used, free))
    for outflow in (triggered, freely):
        left: IntArray = np.flatnonzero(outflow[150:])
        assert np.diff(left).mean() == pytest.approx(0.3 / 0.2 / BIN_S, rel=0.1)  # overhead / (1 - load)
