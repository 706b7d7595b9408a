from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mead.arrays import FloatArray, frozen
from mead.policies.adaptive.decision import BACKLOGS, DISCOUNT, Charges, Decisions, Server, backlogs, between
from mead.policies.adaptive.kernel import Rule, follow
from mead.policies.adaptive.rates import CHANCES, RateModel, learn

MOST = 3.0
CORES = np.array([0.4, 0.7, 1.0])


def arrivals(seed: int, delay: int = 0, load: float = 0.5) -> RateModel:
    """Of work that comes in bursts; a tuple costs 2 ms."""
    rng = np.random.default_rng(seed)
    bursts = np.repeat(rng.gamma(2.0, load / 0.004, 30), 10)
    return learn(rng.poisson(bursts).astype(float), 1.0, most=500.0, delay=delay)


def decisions(
    model: RateModel, price: float = 0.5, change_cost: float = 0.1, cores: FloatArray = CORES, gate_s: float = 0.0
) -> Decisions:
    """A backlog is charged for by its square, and tuples for meeting one of more than half a second's work."""
    grid = backlogs(MOST)[:, None]
    waiting = price * grid**2 + 0 * cores
    arriving = 0.01 * price / (1 + np.exp(-8 * (grid / cores - 0.5)))
    server = Server(0.002, cores, cores, gate_s)
    values = np.zeros((model.rates.size, BACKLOGS, cores.size))
    fees = change_cost * (1 - np.eye(cores.size))
    return Decisions(server, model, Charges(waiting, arriving), 1.0, MOST, fees, values)


def converged(process: Decisions) -> FloatArray:
    for _ in range(600):
        before = process.values.copy()
        costs = process.costs(1)
        if np.abs(process.values - before).max() < 1e-7:
            return costs
    raise AssertionError("values still move")


class Naive:
    """The same process, one state at a time."""

    def __init__(self, process: Decisions) -> None:
        self.process = process
        self.grid = backlogs(MOST)
        self.levels = range(process.server.rents.size)

    def spread(self, work: float) -> list[tuple[int, float]]:
        """Points of the grid of backlogs, and their weights."""
        v = next((i for i in range(BACKLOGS - 2) if self.grid[i + 1] > work), BACKLOGS - 2)
        g = (work - self.grid[v]) / (self.grid[v + 1] - self.grid[v])
        return [(v, 1 - g), (v + 1, g)]

    def among(self, rate: float) -> list[tuple[int, float]]:
        rates = self.process.arrivals.rates
        place = float(np.interp(rate, rates, np.arange(rates.size)))
        i = min(int(place), rates.size - 2)
        return [(i, 1 - (place - i)), (i + 1, place - i)]

    def price(self, work: float, count: float, level: int) -> float:
        charges = self.process.charges
        prices = charges.waiting[:, level] + count * charges.arriving[:, level]
        return sum(g * float(prices[v]) for v, g in self.spread(work))

    def left(self, work: float, count: float, level: int) -> float:
        return max(work + count * 0.002 - float(self.process.server.speeds[level]), 0.0)

    def period(self, i: int, v: int, level: int) -> tuple[float, list[tuple[int, int, float]]]:
        """What a period costs, and where it leads to with which weights."""
        process, cost, ahead = self.process, float(self.process.server.rents[level]), []
        rate = float(process.arrivals.rates[i])
        outcomes = zip(CHANCES, process.arrivals.outcomes[i], process.arrivals.errors, strict=True)
        for chance, count, error in outcomes:
            held = max(self.grid[v] + error * rate * 0.002, 0.0)
            left = self.left(held, count, level)
            whole = 0.5 * (self.price(held, count, level) + self.price(left, count, level))
            if left == 0:  # empty after a part of the period
                spare = process.server.speeds[level] - count * 0.002
                part = held / spare if spare > 0 else 0.0
                whole = part * whole + (1 - part) * self.price(0.0, count, level)
            cost += chance * whole
            after = rate + process.arrivals.smoothing * (count - rate)
            left = self.left(self.grid[v], count, level)
            ahead += [(j, w, chance * e * g) for (j, e), (w, g) in product(self.among(after), self.spread(left))]
        return cost, ahead

    def swept(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bellman's equation once: costs by decision, and the new values."""
        costs = np.empty_like(values)
        for i, v, level in np.ndindex(*values.shape):
            now, ahead = self.period(i, v, level)
            costs[i, v, level] = now + DISCOUNT * sum(weight * values[j, w, level] for j, w, weight in ahead)
        best = np.array([
            [[min(costs[i, v, to] + self.process.change_costs[at, to] for to in self.levels) for at in self.levels]
             for v in range(BACKLOGS)]
            for i in range(values.shape[0])
        ])  # fmt: skip
        return costs, best - best.min()

    def exact(self) -> FloatArray:
        """Values by policy iteration (Howard, 1960): a policy's values are those of a linear system."""
        shape = self.process.values.shape
        states = int(np.prod(shape))
        now, moves = np.empty(shape), np.zeros((*shape, states))
        for i, v, level in np.ndindex(*shape):
            now[i, v, level], ahead = self.period(i, v, level)
            for j, w, weight in ahead:
                moves[i, v, level, np.ravel_multi_index((j, w, level), shape)] += weight
        chosen = np.broadcast_to(np.arange(shape[2]), shape)  # always stay
        while True:
            i, v, at = np.indices(shape)
            cost = now[i, v, chosen] + self.process.change_costs[at, chosen]
            moved = moves[i, v, chosen].reshape(states, states)
            values = np.linalg.solve(np.eye(states) - DISCOUNT * moved, cost.ravel())
            costs = now + DISCOUNT * (moves @ values)
            better = (costs[:, :, None, :] + self.process.change_costs).argmin(axis=3)
            if (better == chosen).all():
                return values.reshape(shape)
            chosen = better


def small_model(delay: int) -> RateModel:
    """Three rates only."""
    full = arrivals(2, delay)
    some = [0, 5, 8]
    return replace(full, rates=frozen(full.rates[some]), outcomes=frozen(full.outcomes[some]))


def test_a_change_costs_what_it_costs_from_there_to_there() -> None:
    """Two cheap levels, and a third that is dear to get to and to leave: policy iteration knows each way's price."""
    process = decisions(small_model(0), cores=CORES)
    process.change_costs = np.array([[0.0, 0.05, 1.5], [0.05, 0.0, 1.4], [0.7, 0.6, 0.0]])
    exact = Naive(process).exact()
    converged(process)
    assert process.values == pytest.approx(exact - exact.min(), abs=1e-4)


@pytest.mark.parametrize("delay", [0, 2])
def test_a_sweep_is_bellmans_equation(delay: int) -> None:
    process = decisions(small_model(delay), price=1.0)
    process.values[...] = np.random.default_rng(1).uniform(0.0, 0.3, process.values.shape)
    costs, values = Naive(process).swept(process.values)
    assert process.costs(1) == pytest.approx(costs, abs=1e-9)
    assert process.values == pytest.approx(values, abs=1e-9)


def test_values_are_those_of_policy_iteration() -> None:
    process = decisions(small_model(0), change_cost=0.3, cores=np.array([0.4, 1.0]))
    exact = Naive(process).exact()
    converged(process)
    assert process.values == pytest.approx(exact - exact.min(), abs=1e-4)


PROCESSES = {
    "seed": st.integers(0, 50),
    "delay": st.sampled_from([0, 2]),
    "price": st.floats(0.05, 5.0),
    "gate_s": st.sampled_from([0.0, 0.1]),
}


@settings(max_examples=20)
@given(**PROCESSES, change_cost=st.floats(0.0, 1.0))
def test_more_backlog_costs_more_and_no_state_is_worth_more_than_a_change(
    seed: int, delay: int, price: float, gate_s: float, change_cost: float
) -> None:
    process = decisions(arrivals(seed, delay), price, change_cost, gate_s=gate_s)
    costs = process.costs(40)
    assert np.diff(costs, axis=1).min() > -1e-9
    assert np.ptp(process.values, axis=2).max() <= change_cost + 1e-9


@settings(max_examples=10)
@given(**PROCESSES)
def test_where_changes_are_free_the_level_in_force_does_not_matter(
    seed: int, delay: int, price: float, gate_s: float
) -> None:
    process = decisions(arrivals(seed, delay), price, change_cost=0.0, gate_s=gate_s)
    process.costs(30)
    assert np.ptp(process.values, axis=2).max() < 1e-12


@settings(max_examples=10)
@given(**PROCESSES, factor=st.floats(1.2, 8.0))
def test_a_higher_price_never_lowers_a_level(seed: int, delay: int, price: float, gate_s: float, factor: float) -> None:
    model = arrivals(seed, delay)
    cheap, dear = (
        decisions(model, p, change_cost=0.0, gate_s=gate_s).costs(60).argmin(axis=2) for p in (price, factor * price)
    )
    assert (dear >= cheap).all()


def test_dearer_changes_are_made_less_often() -> None:
    rng = np.random.default_rng(4)
    bursts = np.repeat(rng.gamma(2.0, 12.5, 60), 100)  # in bins of 0.1 s
    counts = rng.poisson(bursts).astype(float)
    model = learn(counts.reshape(-1, 10).sum(axis=1), 1.0, most=500.0)
    changes = []
    for change_cost in (0.0, 0.03, 0.1, 0.3, 1.0, 3.0):
        process = decisions(model, price=1.0, change_cost=change_cost)
        rule = Rule(
            1.0, 0.002, 0.0, CORES, np.ones(3), CORES, CORES, CORES, 0.0, 0.0, np.inf, model.rates, model.smoothing,
            MOST, process.change_costs, process.costs(100), np.zeros((3, 3), dtype=np.int64), 0, 1.0,
        )  # fmt: skip
        changes.append(follow(rule, counts, counts, 0.1, 0.0, np.array([2]))[2])
    assert changes == sorted(changes, reverse=True)
    assert changes[0] > 2 * changes[-1] > 0


@given(most=st.floats(0.01, 1e3), part=st.floats(0.0, 4.0))
def test_a_backlog_lies_between_its_points_of_the_grid(most: float, part: float) -> None:
    grid, work = backlogs(most), most * part
    below, beyond = between(np.array([work]), most)
    v, g = int(below[0]), float(beyond[0])
    assert grid[v] + g * (grid[v + 1] - grid[v]) == pytest.approx(work, rel=1e-9, abs=1e-12 * most)
    if part < 1:
        assert -1e-9 <= g <= 1 + 1e-9
    else:
        assert v == BACKLOGS - 2
        assert g >= 1 - 1e-9


@given(load=st.floats(0.05, 0.9), overhead_s=st.floats(0.02, 0.5), speed=st.floats(0.3, 2.0))
def test_a_micro_batch_server_settles_at_the_mean_response_of_a_gated_one(
    load: float, overhead_s: float, speed: float
) -> None:
    server = Server(0.002, np.array([speed]), np.array([speed]), gate_s=1.5 * overhead_s)
    span_s = 0.001 * overhead_s
    came = np.array([load * speed * span_s])
    # Batches of length T = a + load T: a tuple waits for half of one, and then for all of its own. So much is inside:
    inside = load * speed * 1.5 * overhead_s / (1 - load)
    less, even, more = (
        float(server.served(np.array([part * inside]), came, span_s)[0, 0]) for part in (0.8, 1.0, 1.25)
    )
    assert even == pytest.approx(came[0], rel=0.005)
    assert less < came[0] < more  # it comes back from both sides


@given(work=st.floats(0.0, 5.0), came=st.floats(0.0, 3.0), gate_s=st.sampled_from([0.0, 0.2]))
def test_a_higher_level_does_more_and_never_more_than_there_is(work: float, came: float, gate_s: float) -> None:
    done = Server(0.002, CORES, CORES, gate_s).served(np.array([work]), np.array([came]), 1.0)[0]
    assert (np.diff(done) >= 0).all()
    assert 0 <= done[0] <= done[-1] <= work + came + 1e-12
