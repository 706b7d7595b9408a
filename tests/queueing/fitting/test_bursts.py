from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mead.queueing import MAP
from mead.queueing.fitting.bursts import HIGHEST, LOWEST, BurstFamily, Modulators

FAMILIES = [BurstFamily(0, 0), BurstFamily(1, 1), BurstFamily(3, 3), BurstFamily(4, 2)]
PARAMETERS = st.lists(st.floats(LOWEST, HIGHEST), min_size=7, max_size=7)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@settings(max_examples=60, deadline=None)
@given(parameters=PARAMETERS)
def test_every_choice_of_parameters_is_a_valid_map_of_rate_one(family: BurstFamily, parameters: list[float]) -> None:
    D0, D1 = family.matrices(np.array([parameters]))
    model = MAP(D0[0], D1[0])  # raises where a rule is broken
    assert model.states == family.states
    assert model.rate_per_s == pytest.approx(1.0, rel=1e-3)  # rounding: time scales may differ by a factor of e^22


@given(parameters=PARAMETERS)
def test_a_modulator_has_mean_one_and_the_variance_it_says(parameters: list[float]) -> None:
    m = Modulators.from_parameters(np.array([parameters[:3]]))
    assert m.low[0] >= 0
    assert m.probability * m.high + (1 - m.probability) * m.low == pytest.approx(1.0)
    spread = m.probability * (m.high - 1) ** 2 + (1 - m.probability) * (m.low - 1) ** 2
    assert spread == pytest.approx(m.variance, rel=1e-6, abs=1e-12)


def test_more_stages_make_the_length_of_a_burst_less_random() -> None:
    """The dispersion of counts over long spans falls, since it grows with the randomness of burst lengths."""
    parameters = BurstFamily(1, 1).start(50_000)[None]
    limits = []
    for stages in (1, 2, 4):
        D0, D1 = BurstFamily(stages, stages).matrices(parameters)
        limits.append(MAP(D0[0], D1[0]).idc_limit)
    assert limits == sorted(limits, reverse=True)


def test_the_dispersion_that_guides_the_search_is_close_to_the_exact_one() -> None:
    family = BurstFamily(1, 1)
    parameters = family.start(50_000)[None]
    D0, D1 = family.matrices(parameters)
    spans = np.array([1.0, 10.0, 100.0, 1000.0])
    np.testing.assert_allclose(family.idc(parameters, spans)[0], MAP(D0[0], D1[0]).idc(spans), rtol=0.1)
