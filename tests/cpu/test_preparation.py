"""What a live run finds out about its machine before it begins."""

from __future__ import annotations

import pytest

from mead.cpu import Detection, Opener, prepare, share_probe
from mead.cpu.limit import PERIOD_US
from mead.values import Knowledge, Operator, Pipeline

ONE = Pipeline("one", [Operator("matcher", 0.001)])
PERIOD_S, MEASURED_S = PERIOD_US / 1e6, 0.07


@pytest.fixture
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[Opener]:
    """One on which shares can be set, or not; and how often it was measured how soon they act."""
    measured: list[Opener] = []

    def delay_s(opener: Opener) -> float:
        measured.append(opener)
        return MEASURED_S

    monkeypatch.setattr(share_probe, "detect", lambda: Detection(request.param, "as the test wants it"))
    monkeypatch.setattr(share_probe, "measure_actuation_delay_s", delay_s)
    return measured


@pytest.mark.parametrize("machine", ["v1"], indirect=True)
def test_who_acts_measures_how_soon_a_share_does(machine: list[Opener]) -> None:
    found = prepare(ONE, act=True)
    assert found.acts
    assert (found.knowledge.actuation_delay_s, found.knowledge.shares_after_s) == (MEASURED_S, MEASURED_S)
    assert machine == [found.detection.open]


@pytest.mark.parametrize(("machine", "act"), [("none", True), ("none", False), ("v1", False)], indirect=["machine"])
def test_who_does_not_act_takes_a_quota_to_count_from_the_next_period_on(machine: list[Opener], act: bool) -> None:  # noqa: FBT001
    found = prepare(ONE, act=act)
    assert not found.acts
    assert found.knowledge.actuation_delay_s == PERIOD_S
    assert machine == []


@pytest.mark.parametrize("machine", ["v1"], indirect=True)
@pytest.mark.usefixtures("machine")
def test_delays_are_never_shorter_than_somebody_has_said() -> None:
    slow, fast = Knowledge(ONE, 5.0, share_delay_s=0.5), Knowledge(ONE)
    found = prepare(ONE, act=True, stated=slow).knowledge
    assert (found.actuation_delay_s, found.shares_after_s) == (5.0, 0.5)
    found = prepare(ONE, act=True, stated=fast).knowledge
    assert (found.actuation_delay_s, found.shares_after_s) == (MEASURED_S, MEASURED_S)
