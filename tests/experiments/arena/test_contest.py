"""The arena: the same for everybody, judged as it happened, ranked by its rules."""

from __future__ import annotations

import csv
from dataclasses import asdict, replace
from functools import cache
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from experiments.arena.board import DEPENDABLE, board, by_workload
from experiments.arena.contest import (
    BUSY_CORES,
    OURS,
    REQUIREMENTS,
    Bound,
    Bout,
    Contest,
    Score,
    bouts,
    contenders,
    contests,
    requirement_text,
    run_bouts,
)
from experiments.arena.page import arena_page
from experiments.arena.report import arena_tables, write_csv
from experiments.comparison import PolicyContender
from experiments.workloads import Workload, required
from hypothesis import given
from hypothesis import strategies as st

from mead.policies import policy_names
from mead.simulator import Simulation, demands_s
from mead.workload import Markovian, Poisson, Trace

pytestmark = pytest.mark.slow

MEAN = required("mean=0.3")


@cache
def contest(duration_s: float = 60.0) -> Contest:
    return Contest(Workload("poisson", "Poisson", 0.0, Poisson(rate_per_s=300.0, duration_s=duration_s)))


def line(policy: str, *, met: bool, cores: float, workload: str = "w", seed: int = 1, lost: int = 0) -> Score:
    return Score(workload, "mean=1", policy, seed, met, 0.5, 1.0, cores, 2.0, 0.1, 0.7, 30.0, 6.0, lost, 0.001)


def bout(policy: str, **changes: float) -> Bout:
    return replace(Bout(contest(), PolicyContender.of(policy), (MEAN,), 1), **changes)  # type: ignore[arg-type]


def test_every_policy_is_there() -> None:
    assert {text.partition("@")[0] for text in contenders()} == set(policy_names())
    assert contenders()[0] == OURS


def test_every_workload_keeps_the_matcher_as_busy_with_every_seed() -> None:
    found, missing = contests(None, None, 120.0)
    assert [one.name for one in found] == ["synt", "lm", "similar", "walk", "ramp", "logs", "crowd"]
    assert "Bellcore" in missing
    for one in found:
        for seed in (1, 2, 11):
            trace = one.trace(seed)
            matcher = one.pipeline(trace, [MEAN]).operator("matcher")
            assert matcher.demand_s * trace.rate_per_s == pytest.approx(BUSY_CORES)
            assert (matcher.min_replicas, matcher.max_replicas, matcher.shares[-1]) == (1, 4, 1.0)


BURSTS = Contest(Workload("bursts", "MAP", 0.0, Markovian(rate_per_s=300.0, idc=200.0, duration_s=60.0)))


@pytest.mark.parametrize("seed", [1, 2, 12])
def test_a_run_and_its_bound_have_the_load_of_their_own_seed(seed: int) -> None:
    """The rates of these seeds are 287, 366 and 265/s: with one demand for all, the loads would differ by a third."""
    done = Bout(BURSTS, PolicyContender.of("static"), (MEAN,), seed).run()
    matched = done.simulation.responses(MEAN.path).response_s.size
    cpu_s = demands_s(done.pipeline, "matcher", matched, seed).sum()
    assert cpu_s / BURSTS.trace(seed).duration_s == pytest.approx(BUSY_CORES, rel=0.02)
    assert Bound(BURSTS, MEAN, seed).cores() == pytest.approx(BUSY_CORES, rel=0.06)


def test_rates_that_are_generated_differ_from_seed_to_seed_and_those_of_a_file_do_not(tmp_path: Path) -> None:
    rates = tmp_path / "rates.csv"
    rates.write_text("time,value\n" + "".join(f"{s},{100 + 10 * s}\n" for s in range(60)))

    def correlation(path: Path | None) -> float:
        logs = next(one for one in contests(None, path, 60.0)[0] if one.name == "logs")
        counts = [np.bincount(logs.trace(seed).times_s.astype(int), minlength=61)[:60] for seed in (1, 2)]
        return float(np.asarray(np.corrcoef(counts))[0, 1])

    assert correlation(None) < 0.5
    assert correlation(rates) > 0.8


def test_recorded_arrivals_take_part_if_they_are_there(tmp_path: Path) -> None:
    rates = tmp_path / "rates.csv"
    rates.write_text("time,value\n" + "".join(f"{s},{100 if s < 60 else 300}\n" for s in range(120)))
    trace = Trace.from_timestamps_s(np.arange(0.0, 200.0, 0.01))
    found, missing = contests(trace, rates, 120.0)
    assert missing == ""
    by_name = {one.name: one for one in found}
    assert by_name["bc"].trace(1).duration_s == pytest.approx(120.0, abs=0.1)
    times_s = by_name["logs"].trace(1).times_s
    assert (times_s >= 60).sum() / (times_s < 60).sum() == pytest.approx(3.0, rel=0.05)


def test_who_looks_at_no_requirement_runs_once_for_all() -> None:
    two = [PolicyContender.of("static"), PolicyContender.of("drs")]
    found = bouts([contest()], two, REQUIREMENTS, [1, 2])
    assert [(one.policy.label, len(one.requirements)) for one in found] == [("static", 3)] * 2 + [("drs", 1)] * 6
    split = bouts([contest()], [PolicyContender.of("static@two_level=true")], REQUIREMENTS, [1])
    assert [len(one.requirements) for one in split] == [1, 1, 1], "what waits is split by what is required"
    alone = next(run_bouts(found[:1], jobs=1))
    assert [one.requirement for one in alone] == [requirement_text(one) for one in REQUIREMENTS]


def test_a_run_is_judged_by_what_happened() -> None:
    (score,) = bout("static@share=0.7@replicas=3").scores()
    trace = contest().trace(1)
    pipeline = contest().pipeline(trace, [MEAN])
    simulation = Simulation(pipeline, trace, seed=1)  # an independent run, held at the same level
    level = simulation.in_force.with_("matcher", replace(simulation.in_force["matcher"], share=0.7, replicas=3))
    simulation = Simulation(pipeline, trace, seed=1, allocation=level)
    simulation.drain()
    late = simulation.responses(MEAN.path).response_s
    assert score.response_s == pytest.approx(late.mean(), rel=0.05)  # the policy is asked after a second
    assert score.cores == pytest.approx(2.1, rel=0.03)
    assert score.replicas == pytest.approx(3.0, rel=0.03)
    assert score.replica_changes_per_h == pytest.approx(60.0, rel=0.02)
    assert (score.lost, score.met) == (0, True)


def test_a_policy_that_loses_tuples_has_met_nothing() -> None:
    (score,) = bout("dabs@interval_s=10@hold_down_s=0@downtime_s=5").scores()
    assert score.lost > 0
    assert not score.met


@pytest.mark.parametrize("policy", ["static@share=1@replicas=2", "hybrid"])
def test_nobody_who_meets_a_requirement_undercuts_the_bound(policy: str) -> None:
    (score,) = bout(policy).scores()
    bound = Bound(contest(), MEAN, seed=1).cores()
    assert score.met
    assert bound is not None
    assert 0.9 * BUSY_CORES < bound <= score.cores


def test_there_is_no_bound_where_everything_is_not_enough() -> None:
    heavy = replace(contest(), busy_cores=8.0)
    assert Bound(heavy, MEAN, seed=1).cores() is None


RUNS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from(["v", "w"]), st.integers(1, 3), st.booleans(), st.floats(1, 4)),
    min_size=1,
    unique_by=lambda run: run[:3],
)


@given(RUNS)
def test_requirements_come_first_and_cpu_decides_among_the_dependable(
    runs: list[tuple[str, str, int, bool, float]],
) -> None:
    scores = [line(p, met=met, cores=cores, workload=w, seed=seed) for p, w, seed, met, cores in runs]
    standings = board(scores, {})
    assert [one.rank for one in standings] == list(range(1, len(standings) + 1))
    possible = len({(one.workload, one.seed) for one in scores if one.met})
    for first, then in pairwise(standings):
        assert first.dependable >= then.dependable
        if first.dependable and then.dependable:
            assert first.cores <= then.cores
        elif not first.dependable:
            assert (-first.met, first.cores) <= (-then.met, then.cores)
    for one in standings:
        assert one.possible == possible
        assert one.dependable == (possible > 0 and one.met >= DEPENDABLE * possible)


def test_the_order_of_the_runs_makes_no_difference() -> None:
    scores = [line("a", met=True, cores=2.0), line("b", met=True, cores=1.0), line("c", met=False, cores=0.5)]
    assert len({board(order, {}) for order in permutations(scores)}) == 1


def remark(*lines: Score) -> str:
    return by_workload(lines, {})[0].remark


def test_a_workload_says_where_ours_is_not_first() -> None:
    ours, other = line(OURS, met=True, cores=1.1), line("drs", met=True, cores=2.0)
    assert remark(ours, other) == "ours"
    assert remark(replace(ours, cores=2.2), other) == f"{OURS} is number 2: +10.0% cores"
    assert remark(replace(ours, met=False), other) == f"{OURS} is number 2: it meets 0 of 1"


def test_where_nobody_is_dependable_it_is_said_what_decided() -> None:
    """Two policies meet different runs, so that neither meets nearly all that was met."""

    def lines(policy: str, met: set[int], cores: float) -> list[Score]:
        return [line(policy, met=seed in met, cores=cores, seed=seed) for seed in range(4)]

    first, cheaper = lines("drs", {0, 1}, 2.0), lines(OURS, {3}, 1.5)
    assert remark(*first, *cheaper) == f"{OURS} is number 2: it meets 1 of 3", "and not that it takes fewer cores"
    assert remark(*first, *lines(OURS, {2, 3}, 3.0)) == f"{OURS} is number 2: +50.0% cores"
    nothing = lines("drs", set(), 2.0), lines(OURS, set(), 1.0)
    assert remark(*nothing[0], *nothing[1]) == "no policy meets a requirement"
    assert not any(one.dependable for one in board([*nothing[0], *nothing[1]], {}))


def test_cores_stand_beside_the_bound_of_their_own_workload_and_seed() -> None:
    scores = [line("a", met=True, cores=1.5), line("a", met=True, cores=3.0, workload="v")]
    (alone,) = board(scores, {("w", "mean=1", 1): 1.0, ("v", "mean=1", 1): 2.0})
    assert alone.over_bound == pytest.approx(0.5)
    seeds = [line("a", met=True, cores=1.5, seed=1), line("a", met=True, cores=4.0, seed=2)]
    (alone,) = board(seeds, {("w", "mean=1", 1): 1.0, ("w", "mean=1", 2): 2.0})
    assert alone.over_bound == pytest.approx((0.5 + 1.0) / 2)
    (alone,) = board(seeds, {("w", "mean=1", 2): 2.0})
    assert alone.over_bound == pytest.approx(1.0), "a run whose own seed has no bound is not beside that of another"
    (alone,) = board(scores, {("w", "mean=1", 1): None})
    assert alone.over_bound is None


def test_the_table_has_a_line_for_every_judgement(tmp_path: Path) -> None:
    scores = [line("a", met=True, cores=1.5), line("b", met=False, cores=3.0, lost=7)]
    write_csv(scores, tmp_path / "arena.csv")
    with (tmp_path / "arena.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert read == [{name: str(value) for name, value in asdict(one).items()} for one in scores]


def test_the_page_needs_nothing_else_and_shows_every_policy() -> None:
    scores = [line("<b>", met=True, cores=1.5), line(OURS, met=True, cores=3.0), line("c", met=False, cores=1.0)]
    bounds = {("w", "mean=1", 1): 1.2}
    standings, workloads = board(scores, bounds), by_workload(scores, bounds)
    page = arena_page(standings, workloads, bounds, ["1 seed"])
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert f"{OURS} is number 2: +100.0% cores" in page
    assert "src=" not in page
    assert "<svg" in page
    assert sum(table.row_count for table in arena_tables(standings, workloads, bounds)) == 4
