"""The checks that every policy has to pass. MEAD's own policies pass them too.

With pytest, one test for each::

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_policy(check):
        check(MyPolicy)

or all at once, anywhere: ``check_policy(MyPolicy)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil, inf
from typing import Any, TypeAlias

from mead.monitor import implausible
from mead.policies import Policy, decide
from mead.simulator import SimulatedRun, run
from mead.testing.readings import BROKEN, MIDDLE, RATE_PER_S, bursty, log_analysis, observed, shapes
from mead.values import Cause, Knowledge, Observation, Pipeline, Plan
from mead.workload import Trace

Maker: TypeAlias = Callable[[], Policy]
"""Makes a new policy with every call: a class, or a function if the policy takes options."""

SHORTEST_S = 12.0
"""The least time that a policy is tried for."""


class NonconformityError(AssertionError):
    """A policy fails a check. The message says how."""


def has_name_and_interval(make: Maker) -> None:
    """Check that it has a name, and an interval in seconds."""
    policy = make()
    _expect(bool(policy.name), f"its name is {policy.name!r}; it must be a text")
    _expect(0 < policy.interval_s < inf, f"its interval_s is {policy.interval_s!r}; it must be seconds above 0")


def keeps_allocation_on_bad_readings(make: Maker) -> None:
    """Check that a policy decides nothing on missing, implausible or empty readings.

    Its reason must say so.

    ``mead.policies.not_ready`` finds the empty ones.
    """
    pipeline, iats_s = log_analysis(), bursty()
    for kind, changes in BROKEN.items():
        readings: dict[str, Any] = {"iats_s": iats_s, "allocation": MIDDLE, **changes}
        plan = plan_once(make(), observed(pipeline, **readings), pipeline)
        held = readings["allocation"]
        _expect(plan.allocation == held, f"readings {kind}: it orders {plan.allocation} where {held} is in force")
        _expect(bool(plan.reason.facts), f"readings {kind}: it gives no reason; return not_ready(...) from analyze")


def decides_the_same_on_the_same_readings(make: Maker) -> None:
    """Check that a policy decides the same on the same readings.

    Neither clock nor chance nor another policy of its kind may change a decision.
    """
    pipeline, iats_s = log_analysis(), bursty()
    seen = [
        observed(pipeline, iats_s=iats_s[:end], time_s=time_s, allocation=MIDDLE)
        for end, time_s in ((6_000, 60.0), (12_000, 120.0))
    ]
    first, second = make(), make()
    by_turns = [(plan_once(first, one, pipeline), plan_once(second, one, pipeline)) for one in seen]
    alone = make()
    for (one, other), again in zip(by_turns, [plan_once(alone, one, pipeline) for one in seen], strict=True):
        _expect(one == other, f"two of them decide differently on the same readings: '{one.reason}', '{other.reason}'")
        _expect(one == again, f"it decides differently when it runs again: '{one.reason}', '{again.reason}'")


def controls_pipelines_of_all_shapes(make: Maker) -> None:
    """Check that a policy never fails, plans within limits and gives reasons.

    All tuples that arrived must leave in the end.
    """
    for shape, this in run_shapes(make):
        _expect_control(shape, this)


CHECKS: tuple[Callable[[Maker], None], ...] = (
    has_name_and_interval,
    keeps_allocation_on_bad_readings,
    decides_the_same_on_the_same_readings,
    controls_pipelines_of_all_shapes,
)
"""All checks."""


def check_policy(make: Maker) -> list[str]:
    """Run all checks, and return their names.

    Raises NonconformityError with those that a policy does not pass.

    >>> from mead.policies.baselines.static import StaticOptions
    >>> from mead.policies.baselines.static import Static
    >>> check_policy(lambda: Static(StaticOptions(share=0.7)))[0]
    'has_name_and_interval'
    """
    passed, failed = [], []
    for check in CHECKS:
        try:
            check(make)
            passed.append(check.__name__)
        except NonconformityError as error:
            failed.append(f"{check.__name__}: {error}")
        except Exception as error:  # noqa: BLE001 - the policy raised it
            failed.append(f"{check.__name__}: it raises {type(error).__name__}: {error}")
    if failed:
        raise NonconformityError("\n".join(failed))
    return passed


def plan_once(policy: Policy, observation: Observation, pipeline: Pipeline) -> Plan:
    """The plan for an observation, as the loop makes it: it checks the readings before it asks a policy."""
    knowledge = Knowledge(pipeline)
    if fault := observation.missing or implausible(observation, pipeline, after_s=0.0):
        return Plan.keep(observation.allocation, fault, Cause.UNUSABLE)
    return decide(policy, observation, knowledge)


def run_shapes(make: Maker) -> Iterator[tuple[str, SimulatedRun]]:
    """Run pipelines of every shape under a policy, for three decisions each.

    Arrivals come in bursts, and every operator starts at its highest level.
    """
    for shape, pipeline in shapes().items():
        policy = make()
        trace = Trace.from_iats_s(bursty(ceil(RATE_PER_S * max(SHORTEST_S, 3.1 * policy.interval_s))))
        yield shape, run(pipeline, trace, policy, seed=1)


def _expect_control(shape: str, this: SimulatedRun) -> None:
    _expect(bool(this.rounds), f"{shape}: it was never asked")
    for turn in this.rounds:
        where = f"{shape}, {turn.time_s:g} s"
        _expect(turn.error == "", f"{where}: it failed in {turn.error}")
        assert turn.plan is not None  # noqa: S101 - a round without error has one
        _expect(bool(turn.plan.reason.facts), f"{where}: it gives no reason")
        unknown = set(turn.plan.predicted) - set(this.pipeline.paths)
        _expect(not unknown, f"{where}: it predicts for {unknown}, which are no paths")
        try:
            this.pipeline.check(turn.plan.target)
        except ValueError as error:
            raise NonconformityError(f"{where}: its target is invalid: {error}") from error
    counters = this.simulation.counters
    _expect(counters.inside == 0, f"{shape}: {counters.inside} tuples never left")


def _expect(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - as an assertion
    if not holds:
        raise NonconformityError(otherwise)
