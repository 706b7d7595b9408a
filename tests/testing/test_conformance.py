"""The checks that are there for everybody's policies find what they are there to find."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.paths import EXAMPLES

from mead.loading import load_object, modules_in
from mead.policies import NotReady, not_ready
from mead.policies.registry import OwnOptions, own_policy
from mead.testing.conformance import CHECKS, NonconformityError, check_policy
from mead.values import Allocation, Cause, Knowledge, Observation, Plan, Prediction, Reason, Resources


class Careful:
    """Keeps everything, as a policy should that has nothing to say."""

    name = "careful"
    interval_s = 5.0

    def analyze(self, seen: Observation, knowledge: Knowledge) -> NotReady | None:
        return not_ready(seen, knowledge.pipeline)

    def plan(self, seen: Observation, analysis: None, knowledge: Knowledge) -> Plan:
        del analysis, knowledge
        return Plan.keep(seen.allocation, "all is well")


class Nameless(Careful):
    name = ""


class Hasty(Careful):
    interval_s = 0.0


class Silent(Careful):
    def plan(self, seen: Observation, analysis: None, knowledge: Knowledge) -> Plan:
        kept = super().plan(seen, analysis, knowledge)
        return replace(kept, reason=Reason(Cause.ENOUGH))


class Greedy(Careful):
    def plan(self, seen: Observation, analysis: None, knowledge: Knowledge) -> Plan:
        del analysis, knowledge
        target = Allocation.of({name: Resources(7.5) for name in seen.allocation})
        return Plan.move(seen.allocation, target, "more is more")


class Wishful(Careful):
    """What it orders is fine, and what it wants is not."""

    def plan(self, seen: Observation, analysis: None, knowledge: Knowledge) -> Plan:
        kept = super().plan(seen, analysis, knowledge)
        wish = Allocation.of({name: Resources(7.5) for name in seen.allocation})
        return replace(kept, target=wish)


class Trusting(Careful):
    """Does not look whether there is something to look at."""

    def analyze(self, seen: Observation, knowledge: Knowledge) -> None:
        del seen, knowledge

    def plan(self, seen: Observation, analysis: None, knowledge: Knowledge) -> Plan:
        del analysis
        lowest = Allocation.of({o.name: o.least for o in knowledge.pipeline.operators})
        return Plan.move(seen.allocation, lowest, "less is cheaper")


class Moody(Careful):
    """Decides by how often anybody has asked anyone of its kind."""

    asked = count()

    def plan(self, seen: Observation, analysis: None, knowledge: Knowledge) -> Plan:
        kept = super().plan(seen, analysis, knowledge)
        return Plan.keep(kept.allocation, f"nobody has asked {next(Moody.asked)} times")


class Prophet(Careful):
    def plan(self, seen: Observation, analysis: None, knowledge: Knowledge) -> Plan:
        kept = super().plan(seen, analysis, knowledge)
        return replace(kept, predicted={"nowhere>nothing": Prediction(0.1)})


def test_a_policy_that_keeps_to_the_rules_passes_every_check() -> None:
    assert check_policy(Careful) == [check.__name__ for check in CHECKS]


def test_the_example_passes_every_check() -> None:
    modules_in(EXAMPLES)
    assert check_policy(load_object("clear_up:ClearUp")) == [check.__name__ for check in CHECKS]


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (Nameless, "has_name_and_interval: its name is ''"),
        (Hasty, "has_name_and_interval: its interval_s is 0.0"),
        (Silent, "it gives no reason"),
        (Greedy, "it failed in plan: ValueError: operator parser may have a share of"),
        (Wishful, "its target is invalid: operator parser may have a share of"),
        (Trusting, "keeps_allocation_on_bad_readings: "),
        (Moody, "two of them decide differently on the same readings"),
        (Prophet, "it predicts for {'nowhere>nothing'}, which are no paths"),
    ],
)
def test_what_a_policy_gets_wrong_is_said(policy: Callable[[], Any], said: str) -> None:
    if policy is Hasty:
        checks = [CHECKS[0]]  # in control, it would never let time pass
        with pytest.raises(NonconformityError, match="its interval_s is 0"):
            checks[0](policy)
        return
    with pytest.raises(NonconformityError) as caught:
        check_policy(policy)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no_such_module:Policy", "cannot import `no_such_module:Policy`: No module named 'no_such_module'"),
        ("mead.policies.baselines.static:Nothing", "has no attribute 'Nothing'"),
        ("broken_policy:Policy", "cannot import `broken_policy:Policy`: SyntaxError: "),
        ("failing_policy:Policy", "cannot import `failing_policy:Policy`: ZeroDivisionError: division by zero"),
        ("mead.policies.baselines.static:Static", "does not take these options: "),
        ("collections:Counter", "is not a policy: it has no method analyze"),
        ("half_policy:Nameless", "is not a policy: `name` must be a string"),
        ("half_policy:Timeless", "is not a policy: its interval_s must be seconds above 0; got 'soon'"),
    ],
)
def test_what_is_no_policy_is_refused_in_one_line(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_policy.py").write_text("class Policy(\n")
    (tmp_path / "failing_policy.py").write_text("1 / 0\n")
    (tmp_path / "half_policy.py").write_text(
        "class Nameless:\n    interval_s = 1.0\n    def analyze(self): ...\n    def plan(self): ...\n"
        "class Timeless(Nameless):\n    name = 'timeless'\n    interval_s = 'soon'\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(ValueError, match=name) as caught:
        own_policy(OwnOptions(name=name))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
