"""Advice beside queries that are worked out task by task: no model of the advice is used there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.spark.event_log.made_log import START_S, Made, Work, poisson, responses_s, run_query

from mead.arrays import FloatArray
from mead.reports.advice.advice import Advice, QueryAdvice, advise
from mead.reports.advice.query_record import Latency, MicroBatch, QueryRecord
from mead.reports.advice.server import BatchTimes, makespan_s, sizes
from mead.reports.advice.words import as_json, sentences

MINUTE_S = 60.0


def recorded(made: list[Made], slots: int, work: Work, **known: object) -> QueryRecord:
    """The record of a query that ran on so many slots."""
    batches = []
    left = 0
    for before, batch in zip([None, *made], made, strict=False):
        since_s = None if before is None else min(before.start_s, batch.start_s)
        if before is not None and batch.start_s - before.end_s > (work.trigger_s or 0.01) + 0.1:
            since_s = batch.start_s - (work.trigger_s or 0.01)
        last_s = max(end_s for _, end_s in batch.tasks)
        batches.append(
            MicroBatch(
                rows=batch.rows,
                started_s=batch.start_s,
                since_s=since_s,
                planning_s=work.planning_s,
                work_s=last_s - batch.start_s - work.planning_s,
                commit_s=batch.end_s - last_s,
                record_s=work.record_s,
                slots=slots,
                steps=(np.array([end_s - start_s for start_s, end_s in batch.tasks]),),
                arrived=batch.rows + batch.left - left,
                left=batch.left,
            )
        )
        left = batch.left
    facts = {"trigger_s": work.trigger_s, "max_rows": work.most_rows, "rows": sum(b.rows for b in batches)} | known
    return QueryRecord("scores", batches, **facts)  # type: ignore[arg-type]  # as named


def advised(
    arrivals_s: FloatArray, slots: int, work: Work, required: str = "p95 <= 0.4 s", load: float = 1.0
) -> Advice:
    return advise("shop", [recorded(run_query(arrivals_s, slots, work), slots, work)], required, load=load)


@pytest.mark.parametrize(
    ("work", "rate_per_s", "slots"),
    [
        (Work(), 150.0, 2),
        (Work(partitions=8), 150.0, 2),
        (Work(trigger_s=1.0), 150.0, 2),
        (Work(partitions=20, per_row_s=0.0005, per_task_s=0.05), 200.0, 4),
        (Work(noise_s=0.1), 150.0, 2),
    ],
    ids=["four partitions", "eight partitions", "trigger", "many small tasks", "noise"],
)
def test_other_sizes_are_predicted_as_they_turn_out(work: Work, rate_per_s: float, slots: int) -> None:
    arrivals_s = poisson(rate_per_s, MINUTE_S)
    (query,) = advised(arrivals_s, slots, work).queries
    assert query.now == slots
    for predicted in query.predictions:
        real_s = responses_s(run_query(arrivals_s, predicted.size, work), skip=3)
        assert predicted.mean_s == pytest.approx(real_s.mean(), rel=0.1 if work.noise_s else 0.03)
        assert predicted.p95_s == pytest.approx(np.percentile(real_s, 95), rel=0.1 if work.noise_s else 0.03)


def test_more_cores_than_tasks_help_nobody() -> None:
    (query,) = advised(poisson(150.0, MINUTE_S), 2, Work(partitions=2)).queries
    two, four = (next(p for p in query.predictions if p.size == size) for size in (2, 4))
    assert two.mean_s == four.mean_s


def test_a_load_that_was_never_recorded_is_predicted() -> None:
    work = Work()
    (query,) = advised(poisson(100.0, MINUTE_S), 2, work, load=2.0).queries
    real_s = responses_s(run_query(poisson(200.0, MINUTE_S, seed=9), 2, work), skip=3)
    assert query.at_now.mean_s == pytest.approx(real_s.mean(), rel=0.05)
    assert query.model_error is None  # nothing was measured at that load


def test_a_size_that_cannot_keep_up_has_no_response_times() -> None:
    (query,) = advised(poisson(300.0, MINUTE_S), 2, Work()).queries
    assert query.predictions[0].size == 1
    assert not query.predictions[0].stable
    assert query.predictions[0].utilization == pytest.approx(1.2, rel=0.05)


def test_the_cheapest_size_meets_the_bound_and_the_next_smaller_one_does_not() -> None:
    arrivals_s, work = poisson(150.0, MINUTE_S), Work(partitions=8)
    (query,) = advised(arrivals_s, 4, work, "p95 <= 0.35 s").queries
    assert query.cheapest is not None
    p95_s = {size: np.percentile(responses_s(run_query(arrivals_s, size, work), 3), 95) for size in range(1, 9)}
    assert p95_s[query.cheapest.size] <= 0.35 < p95_s[query.cheapest.size - 1]


def test_seen_latency_is_that_of_the_rows_and_its_parts_add_up() -> None:
    work = Work()
    made = run_query(poisson(150.0, MINUTE_S), 2, work)
    seen = Latency.of(recorded(made, 2, work), (50.0, 95.0))
    real_s = responses_s(made, skip=len(made) - len(recorded(made, 2, work).usable))
    assert seen.mean_s == pytest.approx(real_s.mean(), rel=0.01)
    assert seen.percentiles_s[95.0] == pytest.approx(np.percentile(real_s, 95), rel=0.02)
    parts_s = seen.wait_s + seen.backlog_s + seen.planning_s + seen.work_s + seen.commit_s
    assert parts_s == pytest.approx(seen.mean_s)
    assert seen.backlog_s == pytest.approx(0.0, abs=1e-6)


def test_rows_that_the_source_holds_back_have_waited_in_its_backlog() -> None:
    work = Work(most_rows=20)
    burst_s = np.sort(np.concatenate([poisson(30.0, MINUTE_S), START_S + 20 + np.linspace(0, 1, 600)]))
    made = run_query(burst_s, 2, work)
    record = recorded(made, 2, work)
    real_s = responses_s(made, skip=len(made) - len(record.usable))
    seen = Latency.of(record, (95.0,))
    assert seen.backlog_s > 0.5
    assert seen.mean_s == pytest.approx(real_s.mean(), rel=0.02)
    assert seen.percentiles_s[95.0] == pytest.approx(np.percentile(real_s, 95), rel=0.02)
    (query,) = advise("shop", [record], "mean <= 1 s").queries
    assert query.at_now.mean_s == pytest.approx(real_s.mean(), rel=0.1)


def test_bursts_are_told_from_steady_arrivals() -> None:
    rng = np.random.default_rng(3)
    seconds = np.repeat(rng.random(120) < 0.2, 400)  # some seconds have 400 rows, most have none
    bursty_s = START_S + np.sort(np.repeat(np.arange(120), 400)[seconds] + rng.random(int(seconds.sum())))
    steady, bursty = (
        advised(a, 2, Work(per_row_s=0.0001)).queries[0].dispersion for a in (poisson(100, 120), bursty_s)
    )
    assert steady is not None
    assert bursty is not None
    assert steady < 2.0
    assert bursty > 20.0


def test_the_mean_is_off_by_less_than_the_stated_error() -> None:
    """Rows come in clumps just after each micro-batch has started: the worst case for evenly spread rows."""
    work = Work()
    made = run_query(poisson(150.0, MINUTE_S), 2, work)
    record = recorded(made, 2, work)
    clumped = [replace(b, stamps_s=np.full(17, b.since_s)) for b in record.batches if b.since_s is not None]
    (query,) = advise("shop", [record], "p95 <= 1 s").queries
    worst_s = Latency.of(replace(record, batches=clumped), (95.0,)).mean_s
    assert not record.stamped
    assert worst_s - query.seen.mean_s == pytest.approx(query.arrival_error_s, rel=0.1)


def test_other_queries_of_the_application_take_their_part() -> None:
    work = Work()
    made = run_query(poisson(150.0, MINUTE_S), 2, work)
    alone, shared = (recorded(made, 2, work, others_slots=others) for others in (0.0, 1.0))
    first, second = (advise("shop", [record], "p95 <= 1 s").queries[0] for record in (alone, shared))
    assert second.predictions[0].utilization is None  # one core is what the others need
    slower, faster = (next(p for p in query.predictions if p.size == 4) for query in (second, first))
    assert slower.mean_s is not None
    assert faster.mean_s is not None
    assert slower.mean_s > faster.mean_s


def test_executors_come_with_all_their_cores() -> None:
    work = Work(partitions=8)
    record = recorded(run_query(poisson(150.0, MINUTE_S), 4, work), 4, work, executor_cores=2)
    assert sizes(record) == [1, 2, 3, 4]
    advice = advise("shop", [record], "p95 <= 1 s", price=0.04)
    (query,) = advice.queries
    assert [p.cores for p in query.predictions] == [2, 4, 6, 8]
    assert query.now == 2
    assert advice.per_month(2) == pytest.approx(0.04 * 2 * 730)
    assert "1 executor of 2 cores instead of 2 executors of 2 cores" in str(advice)


def test_the_spread_narrows_with_the_recording() -> None:
    def width_s(query: QueryAdvice) -> float:
        assert query.at_now.low_s is not None
        assert query.at_now.high_s is not None
        return query.at_now.high_s - query.at_now.low_s

    work = Work(noise_s=0.1)
    short, long = (advised(poisson(100.0, lasts_s), 2, work, "mean <= 1 s").queries[0] for lasts_s in (20.0, 320.0))
    assert width_s(long) < 0.6 * width_s(short)


def test_few_micro_batches_lead_to_no_advice_or_to_doubts() -> None:
    work = Work()
    record = recorded(run_query(poisson(100.0, 1.0), 2, work), 2, work)
    short = advise("shop", [replace(record, batches=record.batches[:4])], "p95 <= 1 s")
    assert short.queries == ()
    assert short.skipped == ("scores: 3 usable micro-batches; at least 5 are needed",)
    few = recorded(run_query(poisson(100.0, 5.0), 2, work), 2, work)
    doubts = advise("shop", [few], "p95 <= 1 s").queries[0].doubts
    assert any("micro-batches; record 50 or more" in doubt for doubt in doubts)


def test_saturation_is_told() -> None:
    (query,) = advised(poisson(240.0, 20.0), 1, Work(most_rows=100)).queries
    assert query.saturated
    assert any("hardly keep up" in doubt for doubt in query.doubts)


def test_a_bound_below_the_overhead_is_out_of_reach_and_says_why() -> None:
    advice = advised(poisson(150.0, MINUTE_S), 2, Work(), "p95 <= 50 ms")
    assert advice.size is None
    assert "No size up to 4 cores meets p95 <= 0.05 s" in str(advice)
    assert "s besides its rows, at any size" in str(advice)
    assert as_json(advice)["queries"][0]["cheapest"] is None


def test_repeated_tasks_do_not_teach_demands() -> None:
    work = Work()
    record = recorded(run_query(poisson(100.0, MINUTE_S), 2, work), 2, work)
    wrong = [replace(b, rows=9 * b.rows, repeated=True) if i % 5 == 0 else b for i, b in enumerate(record.batches)]
    plain, spoiled = (BatchTimes.on(r, 2) for r in (record, replace(record, batches=wrong)))
    assert plain is not None
    assert spoiled is not None
    assert spoiled.learn().per_row_s == pytest.approx(plain.learn().per_row_s, rel=0.02)


def test_tasks_are_scheduled_like_a_queue_of_slots() -> None:
    rng = np.random.default_rng(7)
    for _ in range(50):
        tasks_s, slots = rng.exponential(1.0, int(rng.integers(1, 30))), int(rng.integers(1, 9))
        free_s = np.zeros(slots)
        for task_s in tasks_s:
            free_s[free_s.argmin()] += task_s
        assert makespan_s(tasks_s, slots) == pytest.approx(free_s.max())


def test_words_name_the_numbers() -> None:
    advice = advise("shop", advised_records(), "p95 <= 0.5 s", price=0.04)
    text = "\n".join(sentences(advice))
    assert "scores: 150 rows/s, steady" in text.replace("151", "150").replace("149", "150")
    assert "a month" in text
    assert str(advice) == text


def advised_records() -> list[QueryRecord]:
    work = Work()
    return [recorded(run_query(poisson(150.0, MINUTE_S), 4, work), 4, work)]
