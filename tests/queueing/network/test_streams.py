from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.queueing import PH, Edge, Network, Operator, Stream, streams_of
from mead.queueing.network.streams import batch_service, diluted, merged, time_in_batch


@given(st.lists(st.floats(0.05, 20.0), max_size=6))
def test_selectivities_multiply(selectivities: list[float]) -> None:
    stream = Stream()
    for selectivity in selectivities:
        stream = stream.through(selectivity)
    assert stream.tuples == pytest.approx(float(np.prod(selectivities)))
    assert stream.keep <= 1 <= stream.batch


@given(st.lists(st.tuples(st.floats(0.01, 1.0), st.floats(1.0, 9.0)), min_size=1, max_size=4))
def test_merging_keeps_all_tuples(parts: list[tuple[float, float]]) -> None:
    streams = [Stream(*part) for part in parts]
    together = merged(streams)
    assert together.tuples == pytest.approx(sum(stream.tuples for stream in streams))
    assert together.keep <= 1
    assert together.batch >= 1 - 1e-12


def test_an_overloaded_operator_lets_through_what_it_can_serve() -> None:
    network = Network(
        [Operator("parser", PH.exponential(0.2)), Operator("matcher", PH.exponential(0.01))],
        [Edge("parser", "matcher", 0.5)],
    )
    assert streams_of(network, rate_per_s=10.0)["matcher"].tuples * 10 == pytest.approx(0.5 / 0.2)


@pytest.mark.parametrize("batch", [1.0, 2.0, 2.5, 7.3])
def test_batch_times_have_the_moments_of_drawn_batches(batch: float) -> None:
    rng = np.random.default_rng(3)
    service = PH.exponential(1.0)
    sizes = (batch + rng.random(200_000)).astype(np.int64)
    sums = np.array([rng.standard_gamma(size) for size in sizes])
    whole = batch_service(service, batch, most_phases=8)
    assert whole.mean_s == pytest.approx(sums.mean(), rel=0.01)
    assert whole.scv == pytest.approx(sums.var() / sums.mean() ** 2, rel=0.03)
    places = np.concatenate([np.arange(1, size + 1) for size in sizes[:50_000]])
    until = rng.standard_gamma(places)
    own = time_in_batch(service, batch)
    assert own.mean_s == pytest.approx(until.mean(), rel=0.01)
    assert own.scv == pytest.approx(until.var() / until.mean() ** 2, rel=0.03)


def test_a_diluted_service_is_zero_for_most_tuples() -> None:
    service = PH.erlang(2, 3.0)
    rng = np.random.default_rng(4)
    drawn = service.sample(400_000, rng) * (rng.random(400_000) < 0.3)
    assert diluted(service, 0.3).mean_s == pytest.approx(drawn.mean(), rel=0.01)
    assert diluted(service, 0.3).scv == pytest.approx(drawn.var() / drawn.mean() ** 2, rel=0.02)
