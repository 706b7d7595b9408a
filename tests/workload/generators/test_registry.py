"""Properties of every kind of arrivals, and the registry of kinds."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from mead.workload import KINDS, GeneratorError
from mead.workload.generators.kind import Endless

OPTIONS: dict[str, dict[str, Any]] = {
    "poisson": {"rate_per_s": 500.0, "duration_s": 2.0},
    "map": {"rate_per_s": 500.0, "idc": 20.0, "duration_s": 2.0},
    "self-similar": {"rate_per_s": 20_000.0, "hurst": 0.7, "duration_s": 0.1},
    "random-walk": {"duration_s": 0.2},
    "steps": {"rates_per_s": (100.0, 900.0), "step_s": 1.0},
    "synt": {"duration_s": 5.0},
    "live-maps": {"duration_s": 5.0},
}
"""A small trace of every kind."""

every_kind = pytest.mark.parametrize("name", KINDS)
every_endless_kind = pytest.mark.parametrize(
    "name", [name for name, kind in KINDS.items() if issubclass(kind.generator, Endless)]
)


def test_every_kind_of_the_contract_is_there() -> None:
    assert list(KINDS) == list(OPTIONS)


@every_kind
def test_the_same_seed_gives_the_same_arrivals_and_another_seed_gives_others(name: str) -> None:
    generator = KINDS[name].build(**OPTIONS[name])
    first, again, other = (generator.generate(np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first.iats_s, again.iats_s)
    assert not np.array_equal(first.iats_s[:10], other.iats_s[:10])


@every_kind
def test_arrivals_stay_within_the_duration(name: str) -> None:
    options = OPTIONS[name]
    duration_s = options.get("duration_s", 2.0)
    trace = KINDS[name].build(**options).generate(np.random.default_rng(1))
    assert trace.timestamps_us[0] >= 0
    assert duration_s * 0.9 < trace.timestamps_us[-1] / 1e6 <= duration_s


@every_endless_kind
def test_a_count_is_met_exactly(name: str) -> None:
    options = OPTIONS[name] | {"duration_s": None, "count": 70_001}  # more than one block
    assert len(KINDS[name].build(**options).generate(np.random.default_rng(1))) == 70_001


@every_endless_kind
@pytest.mark.parametrize(
    ("length", "complaint"),
    [
        ({"duration_s": None}, "either a duration or a count"),
        ({"count": 100}, "either a duration or a count"),
        ({"duration_s": -1.0}, "duration_s must be a finite number above 0; got -1"),
        ({"duration_s": np.inf}, "duration_s must be a finite number above 0"),
        ({"duration_s": None, "count": 1}, "count must be at least 2"),
    ],
)
def test_an_invalid_length_is_refused(name: str, length: dict[str, Any], complaint: str) -> None:
    with pytest.raises(GeneratorError, match=complaint):
        KINDS[name].build(**OPTIONS[name] | length)


@every_kind
def test_every_option_is_described_and_typed(name: str) -> None:
    kind = KINDS[name]
    assert kind.summary.endswith(".")
    assert kind.parameters
    for parameter in kind.parameters:
        assert parameter.help
        assert parameter.type is not None
        assert parameter.flag.startswith("--")
    flags = [parameter.flag for parameter in kind.parameters]
    assert len(set(flags)) == len(flags)


@every_kind
def test_the_flags_of_a_kind_can_be_parsed_into_its_options(name: str) -> None:
    kind = KINDS[name]
    texts = {option: _as_text(value) for option, value in OPTIONS[name].items()}
    assert kind.build(**{option: kind.parameter(option).parse(text) for option, text in texts.items()}) == kind.build(
        **OPTIONS[name]
    )


def _as_text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def test_matrices_are_parsed_from_json() -> None:
    kind = KINDS["map"]
    matrices = {option: kind.parameter(option).parse(text) for option, text in {"D0": "[[-3]]", "D1": "[[3]]"}.items()}
    assert len(kind.build(count=5, **matrices).generate(np.random.default_rng(1))) == 5


@pytest.mark.parametrize(("option", "text"), [("rate_per_s", "fast"), ("count", "1.5"), ("D0", "[[1"), ("D1", "")])
def test_a_value_that_cannot_be_read_names_its_flag(option: str, text: str) -> None:
    parameter = KINDS["map"].parameter(option)
    with pytest.raises(GeneratorError, match=f"^{parameter.flag}: cannot parse '"):
        parameter.parse(text)


@every_kind
def test_an_option_of_another_kind_is_refused_with_a_list_of_the_right_ones(name: str) -> None:
    with pytest.raises(GeneratorError, match=f"{name} has no option colour; it takes {KINDS[name].parameters[0].name}"):
        KINDS[name].build(colour="red", **OPTIONS[name])


def test_a_missing_option_is_named_with_its_flag() -> None:
    with pytest.raises(GeneratorError, match=r"self-similar needs hurst \(--hurst\)"):
        KINDS["self-similar"].build(rate_per_s=1000.0, count=10)


@every_kind
def test_options_cannot_be_changed_afterwards(name: str) -> None:
    generator = KINDS[name].build(**OPTIONS[name])
    option = KINDS[name].parameters[0].name
    with pytest.raises(FrozenInstanceError):
        setattr(generator, option, 1.0)


@pytest.mark.parametrize("name", ["poisson", "map", "steps", "synt", "live-maps"])
def test_a_duration_too_short_for_two_arrivals_says_so(name: str) -> None:
    short = {"rates_per_s": (1.0,), "step_s": 1e-9} if name == "steps" else OPTIONS[name] | {"duration_s": 1e-9}
    with pytest.raises(GeneratorError, match="too short at this rate"):
        KINDS[name].build(**short).generate(np.random.default_rng(1))


def test_the_stand_in_says_that_it_is_one() -> None:
    assert "SYNTHETIC stand-in" in KINDS["live-maps"].summary
