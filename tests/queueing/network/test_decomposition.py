from __future__ import annotations

import pytest
from scipy.stats import gamma

from mead.queueing import (
    MAP,
    MODELS,
    PH,
    Arrivals,
    Edge,
    InvalidNetworkError,
    Network,
    Operator,
    QueueSolution,
    ResponseTime,
    Unstable,
    gigk,
    kingman,
    m_ph_1,
    solve_network,
)
from mead.queueing.network.decomposition import departed, merged
from mead.queueing.queues.mmk import mmk

BURSTY = MAP.two_state(10.0, idc=50.0)
ERLANG = PH.erlang(2, 0.07)
TANDEM = Network([Operator("a", ERLANG), Operator("b", PH.erlang(2, 0.05))], [Edge("a", "b", 0.5)])


def stable(solution: QueueSolution) -> ResponseTime:
    assert not isinstance(solution, Unstable)
    return solution


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("mg1", m_ph_1(10.0, ERLANG)),
        ("kingman", kingman(10.0, BURSTY.scv, 0.07, 0.5)),
        ("mmk", mmk(10.0, 0.07, 1)),
        ("gigk", gigk(10.0, BURSTY.scv, 0.07, 0.5, 1)),
    ],
)
def test_the_first_operator_is_its_own_queue(model: str, expected: QueueSolution) -> None:
    answer = stable(solve_network(TANDEM, BURSTY, model).operators["a"])
    assert answer.mean_s == pytest.approx(stable(expected).mean_s, rel=1e-12)
    assert answer.percentile_s(95) == pytest.approx(stable(expected).percentile_s(95), rel=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_a_path_is_the_sum_of_its_operators(model: str) -> None:
    solution = solve_network(TANDEM, BURSTY, model)
    path = stable(solution.paths["a>b"])
    parts = [stable(operator) for operator in solution.operators.values()]
    assert path.mean_s == pytest.approx(sum(part.mean_s for part in parts), rel=1e-9)
    assert path.utilization == pytest.approx(0.7)
    assert max(p.percentile_s(95) for p in parts) < path.percentile_s(95) < sum(p.percentile_s(95) for p in parts)


@pytest.mark.parametrize("model", MODELS)
def test_two_equal_m_m_1_queues_add_up_to_an_erlang(model: str) -> None:
    service = PH.exponential(0.05)
    network = Network([Operator("a", service), Operator("b", service)], [Edge("a", "b")])
    path = stable(solve_network(network, MAP.poisson(10.0), model).paths["a>b"])
    assert path.mean_s == pytest.approx(0.2, rel=1e-9)
    assert path.percentile_s(95) == pytest.approx(0.1 * gamma.ppf(0.95, 2), rel=1e-4)


@pytest.mark.parametrize("model", ["mmk", "gigk"])
def test_several_servers_share_a_queue(model: str) -> None:
    network = Network([Operator("a", PH.exponential(0.25), servers=3)])
    answer = stable(solve_network(network, MAP.poisson(10.0), model).operators["a"])
    assert answer.mean_s == pytest.approx(0.601123595506, rel=1e-9)


@pytest.mark.parametrize("model", ["mg1", "kingman"])
def test_models_of_one_server_refuse_several(model: str) -> None:
    network = Network([Operator("a", PH.exponential(0.25), servers=3)])
    with pytest.raises(InvalidNetworkError, match=f"'{model}' has one server per operator, and 'a' has 3"):
        solve_network(network, MAP.poisson(10.0), model)


def test_an_unknown_model_is_named_with_those_there_are() -> None:
    with pytest.raises(InvalidNetworkError, match="no model 'mm1'; the models are map, mg1, kingman, mmk, gigk"):
        solve_network(TANDEM, BURSTY, "mm1")


@pytest.mark.parametrize("model", MODELS)
def test_overload_is_a_value_and_caps_what_goes_on(model: str) -> None:
    network = Network([Operator("a", PH.exponential(0.2)), Operator("b", PH.exponential(0.1))], [Edge("a", "b")])
    solution = solve_network(network, BURSTY, model)
    assert isinstance(solution.operators["a"], Unstable)
    assert isinstance(solution.paths["a>b"], Unstable)
    assert solution.operators["a"].utilization == solution.paths["a>b"].utilization == pytest.approx(2.0)
    assert stable(solution.operators["b"]).utilization == pytest.approx(0.5)


def test_departures_lie_between_arrivals_and_service() -> None:
    """QNA (Whitt 1983), eq. 38: ``rho^2 cs^2 + (1 - rho^2) ca^2`` for one server."""
    after = departed(Arrivals(0.8, 5.0), Operator("a", PH.erlang(2, 1.0)))
    assert after.rate_per_s == 0.8
    assert after.scv == pytest.approx(0.64 * 0.5 + 0.36 * 5.0)


def test_many_servers_blur_their_departures() -> None:
    busy = departed(Arrivals(9.9, 1.0), Operator("a", PH.erlang(4, 10.0), servers=100))
    assert busy.scv == pytest.approx(1 - 0.99**2 * 0.75 / 10)


def test_merging_one_stream_with_nothing_leaves_it_alone() -> None:
    assert merged([Arrivals(3.0, 4.0)], Operator("a", PH.exponential(0.1))) == Arrivals(3.0, 4.0)


def test_merging_many_streams_tends_to_poisson_at_low_load() -> None:
    streams = [Arrivals(0.01, 9.0)] * 50
    low = merged(streams, Operator("a", PH.exponential(0.1)))
    assert low.rate_per_s == pytest.approx(0.5)
    assert low.scv < 1.1
    # Near saturation the sum is as bursty as its parts.
    assert merged(streams, Operator("a", PH.exponential(1.999))).scv == pytest.approx(9.0, rel=0.01)


def test_a_batch_is_as_variable_as_its_zero_gaps_make_it() -> None:
    """Poisson batches of four: of four IATs three are zero, so ``E[X^2] / E[X]^2 = 4 * 2``."""
    assert Arrivals(1.0, 1.0).through(4.0) == Arrivals(4.0, 7.0)
