"""The experiments of the DRS paper: what must come out, on shorter runs than the commands make."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.drs.applications import K_MAX, PATTERNS, STEADY_SCV, VIDEO, VIDEO_FRAMES, allocation, as_text
from experiments.drs.demands import Demands, demands_parts, search
from experiments.drs.fig6 import APPLICATIONS, compare_placements, fig6_parts
from experiments.drs.fig7 import Correlation, fig7_parts
from experiments.drs.fig8 import Recovery, fig8_parts, recoveries
from experiments.drs.fig9 import DOWNTIME_S, Reaction, fig9_parts, reactions
from experiments.drs.fig9 import PATTERNS as RATES
from experiments.drs.fig10 import choices, fig10_parts, stretched_gaps
from experiments.drs.table2 import PUBLISHED_MS, overheads, table2_parts
from scipy.stats import pearsonr, spearmanr

from mead.policies.drs.model import Model, OpenNetwork, Station
from mead.policies.drs.search import assign_processors
from mead.values import Pipeline

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("pipeline", "rate_per_s", "published"),
    [(VIDEO, 13.0, (10, 11, 1)), (VIDEO_FRAMES, 13.0, (10, 11, 1)), (PATTERNS, 320.0, (6, 13, 3))],
    ids=["video", "frames", "patterns"],
)
def test_declared_loads_lead_to_the_published_placements(
    pipeline: Pipeline, rate_per_s: float, published: tuple[int, ...]
) -> None:
    stations = tuple(Station(rate_per_s * pipeline.visits[o.name], 1 / o.demand_s) for o in pipeline.operators)
    assert assign_processors(OpenNetwork(rate_per_s, stations), K_MAX).processors == published


def test_fig6_finds_the_loop_application_best_where_drs_says() -> None:
    found = compare_placements(APPLICATIONS[2], seeds=[1], duration_s=60.0)
    assert found.best.processors == found.advice == (6, 13, 3)
    assert "as in the paper" in found.verdict
    assert len(list(fig6_parts([found]))) == 2
    assert len(found.as_json()["configurations"]) == 6


@pytest.fixture(scope="module")
def recovered() -> list[Recovery]:
    runs = []
    for one in recoveries(seed=1):
        runs.append(one)
        if len(runs) == 3:
            break  # the video; the other application takes ten times as long
    return runs


def test_fig8_recovers_from_bad_starts_in_minute_14(recovered: list[Recovery]) -> None:
    assert [[(e.minute, e.processors) for e in one.events] for one in recovered] == [
        [],
        [(14.0, (10, 11, 1))],
        [(14.0, (10, 11, 1))],
    ]
    assert recovered[2].after_s < 0.97 * recovered[2].before_s
    assert len(recovered[0].as_json()["minutes_s"]) == 27
    assert list(fig8_parts(recovered))


@pytest.fixture(scope="module")
def reacted() -> list[Reaction]:
    return list(reactions(seeds=[3]))


def test_fig9_answers_every_lasting_change_and_the_short_one_with_a_short_window_only(reacted: list[Reaction]) -> None:
    assert [(one.pattern.name, one.window) for one in reacted] == [("long", 6), ("long", 3), ("short", 6), ("short", 3)]
    slow, quick = (one.delays for one in reacted[:2])
    assert all(delay is not None and delay <= 7.0 for delay in (*slow, *quick))
    assert quick[:2] == (3.0, 3.0), "as in the paper"
    assert [one.adds for one in reacted[2:]] == [False, True], "as in the paper"
    assert (9.0, (4, 6, 1)) in [(event.minute, event.processors) for event in reacted[1].events]
    assert "w = 6" in str(list(fig9_parts(reacted))[-1])
    assert len(reacted[0].minutes_s) == len(RATES[0].frames_per_s)


def test_fig9_alternates_only_if_re_allocations_cost_nothing(reacted: list[Reaction]) -> None:
    """With the demands of Fig. 6, where two placements are nearly as good."""
    assert sum(one.returns for one in reacted) == 0
    free, costly = (
        next(reactions(seeds=[3], demands="fig6", downtime_s=downtime_s)) for downtime_s in (0.0, DOWNTIME_S)
    )
    assert free.returns > 2
    assert free.delays[0] is None
    assert costly.returns == 0
    rises = costly.delays[0], costly.delays[2]
    assert None not in rises


def test_no_demands_lead_to_both_figures() -> None:
    found = search(step_s=0.03)
    assert found.both == 0
    assert min(found.fig6, found.fig9) > 0
    assert found.most == len(found.by_decision) - 1
    assert "different demands" in found.verdict
    assert len(list(demands_parts(found))) == 2
    fig9 = Demands((0.24, 0.4), ((1 + STEADY_SCV) / 2,) * 2).decisions
    assert [name for name, met in fig9.items() if not met] == [next(iter(fig9))]


def test_fig7_has_the_correlation_of_model_and_measurement() -> None:
    found = Correlation(compare_placements(APPLICATIONS[2], seeds=[1], duration_s=60.0))
    modelled_s, measured_s = found.times_s
    assert found.linear == pytest.approx(pearsonr(modelled_s, measured_s).statistic)
    assert found.ranks == pytest.approx(spearmanr(modelled_s, measured_s).statistic)
    assert found.linear > 0.7, "strongly correlated, as the paper says"
    assert "patterns" in str(list(fig7_parts([found]))[-1])


def test_fig9_keeps_t_ra_between_re_allocations(reacted: list[Reaction]) -> None:
    for one in reacted:
        minutes = [0.0, *(event.minute for event in one.events)]
        assert min(np.diff(minutes), default=99.0) >= one.window


def test_fig10_shows_gigk_choose_better_than_mmk() -> None:
    found = list(choices(seeds=[1, 2]))
    for one in found:
        assert one.preferred(Model.MMK) == (3, 3, 1)
        assert one.preferred(Model.GIGK) == one.preferred(None) == (2, 4, 1)
        assert "as in the paper" in one.verdict
        assert len(one.bars) == 6, "all placements of seven processors that keep up, and not only those of the paper"
        assert {sum(bars.processors) for bars in one.bars} == {7}
    assert len(list(fig10_parts(found))) == 3
    assert stretched_gaps(5.0, seed=1).rate_per_s == pytest.approx(5.0, rel=1e-3)


def test_table2_has_the_paper_beside_it() -> None:
    ticks = iter(range(10**6))
    rows = overheads(lambda: float(next(ticks)))
    assert [row.k_max for row in rows] == list(PUBLISHED_MS)
    assert all(row.as_json()["paper_scaling_ms"] == PUBLISHED_MS[row.k_max] for row in rows)
    assert list(table2_parts(rows))


def test_allocations_are_written_as_in_the_paper() -> None:
    assert as_text(allocation(VIDEO, (4, 6, 1))) == "(4:6:1)"
