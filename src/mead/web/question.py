"""A question of the page to the models, parsed from a query string and validated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isfinite

from mead.keys import MOST_OPERATORS
from mead.values import Allocation, Pipeline, Resources

RATES_PER_S = (0.01, 1e6)
DISPERSIONS = (1.0, 1e5)
BOUND_FACTORS = (0.05, 20.0)
MOST_VALUES = 3 + 2 * MOST_OPERATORS
"""The most keys in one question: share and replicas of every operator, and three more."""

SHARE, REPLICAS = "share.", "replicas."


class QuestionError(ValueError):
    """An invalid question. The message names the key and its valid values."""


@dataclass(frozen=True)
class Question:
    """Rate and index of dispersion of the arrivals, a factor on all bounds, and an allocation."""

    rate_per_s: float
    idc: float
    bound_factor: float
    allocation: Allocation

    @classmethod
    def parse(cls, values: Iterable[tuple[str, str]], pipeline: Pipeline, default: Question) -> Question:
        """Parse the pairs of a query string; missing keys are taken from ``default``."""
        known: dict[str, str] = {}
        for key, value in values:
            if key in known:
                raise QuestionError(f"{_shown(key)}: is given twice; give it once")
            known[key] = value
            if len(known) > MOST_VALUES:
                raise QuestionError(f"there are more than {MOST_VALUES} keys")
        allocation = default.allocation
        for operator in pipeline.operators:
            held = allocation[operator.name]
            share, replicas = SHARE + operator.name, REPLICAS + operator.name
            if share in known:
                asked = _number(share, known.pop(share), operator.shares[0], operator.shares[-1])
                level = min(operator.shares, key=lambda one: abs(one - asked))
                if abs(level - asked) > 1e-6:
                    levels = ", ".join(f"{one:g}" for one in operator.shares)
                    raise QuestionError(f"{share}: must be one of {levels}; got {asked:g}")
                held = replace(held, share=level)
            if replicas in known:
                count = _number(replicas, known.pop(replicas), operator.min_replicas, operator.max_replicas)
                if count != int(count):
                    raise QuestionError(f"{replicas}: must be a whole number; got {count:g}")
                held = Resources(held.share, int(count))
            allocation = allocation.with_(operator.name, held)
        found = cls(
            _number("rate_per_s", known.pop("rate_per_s", str(default.rate_per_s)), *RATES_PER_S),
            _number("idc", known.pop("idc", str(default.idc)), *DISPERSIONS),
            _number("bound_factor", known.pop("bound_factor", str(default.bound_factor)), *BOUND_FACTORS),
            allocation,
        )
        if known:
            raise QuestionError(
                f"{_shown(next(iter(known)))}: unknown key; the keys are rate_per_s, idc, bound_factor, "
                f"{SHARE}OPERATOR and {REPLICAS}OPERATOR"
            )
        return found

    def with_bounds(self, pipeline: Pipeline) -> Pipeline:
        """The pipeline with the bounds of this question."""
        asked = tuple(replace(r, bound_s=r.bound_s * self.bound_factor) for r in pipeline.requirements)
        return pipeline.with_requirements(asked)


def _number(key: str, text: str, least: float, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        raise QuestionError(f"{key}: must be a number; got {_shown(text)}") from None
    if not isfinite(value) or not least <= value <= most:
        raise QuestionError(f"{key}: must lie between {least:g} and {most:g}; got {value:g}")
    return value


def _shown(text: str) -> str:
    """Text from a request, safe to send back."""
    return ascii(text if len(text) <= 40 else text[:40] + "...")
