"""What became of the alternatives that were weighed."""

from __future__ import annotations

from mead.history import Decision, PastRound, PastRun
from mead.queueing import Edge
from mead.reports.runs import Explanation
from mead.values import Allocation, Candidate, Grounds, Operator, Pipeline, Requirement, Resources

LEVELS = (0.25, 0.5, 1.0)
PIPELINE = Pipeline(
    "two paths",
    [Operator("a", 0.001, shares=(1.0,)), Operator("b", 0.001, shares=LEVELS), Operator("c", 0.001, shares=(1.0,))],
    [Edge("a", "b"), Edge("a", "c")],
    [Requirement("a>b", 0.4), Requirement("a>c", 0.4)],
)


def allocation(share: float) -> Allocation:
    return PIPELINE.most.with_("b", Resources(share))


def explained(caution: float) -> list[str]:
    """Verdicts on the three shares of b, of which the highest was chosen."""
    predicted_s = {0.25: (0.5, 0.1), 0.5: (0.3, 0.1), 1.0: (0.15, 0.1)}
    return verdicts([Candidate(allocation(share), predicted_s[share]) for share in LEVELS], caution)


def verdicts(candidates: list[Candidate], caution: float = 1.0) -> list[str]:
    run = PastRun(1, "", PIPELINE, "mg1", {}, "simulator", "act", "", "", True, 1, 1, 0, 10.0)  # noqa: FBT003 - finished
    chosen = allocation(1.0)
    decision = Decision(1, 10.0, chosen, chosen, chosen, False, True, "because", "", "", (), caution)  # noqa: FBT003 - kept
    seen = PastRound(1, 10.0, 10.0, 10.0, 1.0, "", "", chosen, {}, {}, {})
    grounds = Grounds((), tuple(candidates), caution)
    return [one.verdict for one in Explanation(run, decision, seen, grounds).candidates]


def test_what_breaks_a_bound_is_told_from_what_would_break_a_tighter_one() -> None:
    broken, tighter, chosen = explained(caution=2.0)
    assert broken == "breaks mean of a>b"
    # How much tighter is known of the path that was missed by most: of another one it is what would be.
    assert tighter == "would break mean of a>b with bounds 2 times tighter"
    assert chosen == "chosen; was in force"


def test_without_caution_the_search_is_said_to_have_stopped_elsewhere() -> None:
    assert explained(caution=1.0)[1] == "meets all bounds with 0.500 cores less; the search missed it"


def test_a_candidate_that_was_ruled_out_has_no_cost() -> None:
    ruled_out, chosen = Candidate(allocation(0.5), considered=False), Candidate(allocation(1.0), extra_cost=0.0)
    said = "not considered: a bound is missed at any cost, so the operator gets all"
    assert verdicts([ruled_out, chosen]) == [said, "chosen; was in force"]
