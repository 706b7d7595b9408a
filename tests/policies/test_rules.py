from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mead.policies.rules import Rules
from mead.values import Allocation, Operator, Pipeline, Resources

ONE = Pipeline("one", [Operator("matcher", 0.0015, max_replicas=4)])
LEVELS = st.sampled_from(ONE.operators[0].shares)


def limited(rules: Rules, target: float, now: float, since_change_s: float = 60.0) -> float:
    before, after = Allocation.of(matcher=Resources(now)), Allocation.of(matcher=Resources(target))
    return rules.limit(after, before, ONE, since_change_s=since_change_s)["matcher"].share


def test_a_share_rises_at_once_and_falls_by_one_level() -> None:
    assert limited(Rules(), target=1.0, now=0.4) == 1.0
    assert limited(Rules(), target=0.4, now=1.0) == 0.85
    assert limited(Rules(one_level_down=False), target=0.4, now=1.0) == 0.4


def test_nothing_falls_soon_after_a_change() -> None:
    assert limited(Rules(hold_down_s=120.0), target=0.4, now=1.0) == 1.0
    assert limited(Rules(hold_down_s=120.0), target=1.0, now=0.4) == 1.0


def test_a_target_between_levels_is_rounded_up() -> None:
    assert limited(Rules(), target=0.6, now=0.4) == 0.7
    assert limited(Rules(), target=1.7, now=0.4) == 1.0


@given(target=st.floats(0.01, 2.0), replicas=st.integers(1, 9), now=LEVELS, down=st.booleans())
def test_plans_stay_within_bounds(target: float, replicas: int, now: float, *, down: bool) -> None:
    before = Allocation.of(matcher=Resources(now))
    after = Allocation.of(matcher=Resources(target, replicas))
    found = Rules(one_level_down=down).limit(after, before, ONE, since_change_s=60.0)["matcher"]
    assert found.share in ONE.operators[0].shares
    assert 1 <= found.replicas <= 4


@given(
    target=st.builds(Resources, LEVELS, st.integers(1, 4)),
    now=st.builds(Resources, LEVELS, st.integers(1, 4)),
    since_s=st.floats(0.0, 200.0),
)
def test_a_round_goes_down_one_level_and_never_up_on_the_way_down(
    target: Resources, now: Resources, since_s: float
) -> None:
    shares = ONE.operators[0].shares
    rules = Rules(hold_down_s=100.0)
    found = rules.limit(Allocation.of(matcher=target), Allocation.of(matcher=now), ONE, since_change_s=since_s)[
        "matcher"
    ]
    assert shares.index(found.share) >= shares.index(now.share) - 1
    assert found.replicas >= now.replicas - 1
    if since_s < 100.0:
        assert found.share >= now.share
        assert found.replicas >= now.replicas
    if target.cores < now.cores and found != target:
        one_step = max(now.share, 0.15 * now.replicas)
        assert found.cores <= now.cores + one_step + 1e-9


@given(target=st.builds(Resources, LEVELS, st.integers(1, 4)), now=st.builds(Resources, LEVELS, st.integers(1, 4)))
def test_repeated_rounds_reach_the_target(target: Resources, now: Resources) -> None:
    for _ in range(12):
        now = Rules().limit(Allocation.of(matcher=target), Allocation.of(matcher=now), ONE, since_change_s=60.0)[
            "matcher"
        ]
    assert now == target
