from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.web.runs import PIPELINE

from mead.web.question import BOUND_FACTORS, DISPERSIONS, RATES_PER_S, Question, QuestionError

NOW = Question(300.0, 50.0, 1.0, PIPELINE.most)
KEYS = ["rate_per_s", "idc", "bound_factor", "share.parser", "share.matcher", "replicas.matcher", "share.nobody"]


def asked(*values: tuple[str, str]) -> Question:
    return Question.parse(values, PIPELINE, NOW)


def test_what_is_not_asked_for_is_as_it_is_now() -> None:
    assert asked() == NOW
    found = asked(("rate_per_s", "100"), ("share.matcher", "0.7"))
    assert (found.rate_per_s, found.idc, found.allocation["matcher"].share) == (100.0, 50.0, 0.7)
    assert found.allocation["parser"] == NOW.allocation["parser"]


def test_bounds_are_scaled_together() -> None:
    bounds = [r.bound_s for r in asked(("bound_factor", "2")).with_bounds(PIPELINE).requirements]
    assert bounds == pytest.approx([2 * r.bound_s for r in PIPELINE.requirements])


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("rate_per_s", "fast", "rate_per_s: must be a number; got 'fast'"),
        ("rate_per_s", "nan", "rate_per_s: must lie between 0.01 and 1e+06; got nan"),
        ("idc", "0.5", "idc: must lie between 1 and 100000; got 0.5"),
        ("share.matcher", "0.5", "share.matcher: must be one of 0.4, 0.55, 0.7, 0.85, 1; got 0.5"),
        ("replicas.matcher", "2", "replicas.matcher: must lie between 1 and 1; got 2"),
        ("shrae.matcher", "1", "'shrae.matcher': unknown key"),
    ],
)
def test_a_mistake_is_named(key: str, value: str, complaint: str) -> None:
    with pytest.raises(QuestionError) as refused:
        asked((key, value))
    assert str(refused.value).startswith(complaint)


def test_a_key_stands_once() -> None:
    with pytest.raises(QuestionError, match="is given twice"):
        asked(("idc", "2"), ("idc", "3"))


@given(st.lists(st.tuples(st.sampled_from(KEYS) | st.text(max_size=60), st.floats().map(str) | st.text(max_size=60))))
def test_any_question_is_sound_or_refused_in_one_line(values: list[tuple[str, str]]) -> None:
    try:
        found = asked(*values)
    except QuestionError as error:
        refusal = str(error)
    else:
        refusal = ""
        assert RATES_PER_S[0] <= found.rate_per_s <= RATES_PER_S[1]
        assert DISPERSIONS[0] <= found.idc <= DISPERSIONS[1]
        assert BOUND_FACTORS[0] <= found.bound_factor <= BOUND_FACTORS[1]
        PIPELINE.check(found.allocation)
    assert refusal.isprintable()
    assert len(refusal) < 300
