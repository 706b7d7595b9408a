"""Generators by name, with descriptions of their options."""

from __future__ import annotations

import json
import types
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from inspect import getdoc
from typing import Any, Union, get_args, get_origin, get_type_hints

from mead.workload.generators.kind import Generator, GeneratorError
from mead.workload.generators.markovian import Markovian
from mead.workload.generators.paper_traces import LiveMapsStandIn, Synt
from mead.workload.generators.poisson import Poisson, RandomWalk, Steps
from mead.workload.generators.self_similar import SelfSimilar


@dataclass(frozen=True)
class Parameter:
    """One option of a generator."""

    name: str
    type: Any
    """``float``, ``int``, ``tuple[float, ...]`` or a matrix as a sequence of rows; never a union with None."""
    help: str
    default: Any
    required: bool

    @property
    def flag(self) -> str:
        """The command line option. It has no unit; the help text has.

        >>> [KINDS["random-walk"].parameter(name).flag for name in ("rate_per_s", "phase_s")]
        ['--rate', '--phase']
        """
        stem = self.name.removesuffix("_s").removesuffix("_per")
        return "--" + stem.replace("_", "-").lower()

    def parse(self, text: str) -> Any:
        """Parse a number, numbers separated by commas, or rows as JSON.

        >>> KINDS["steps"].parameter("rates_per_s").parse("100, 2e3")
        (100.0, 2000.0)
        """
        try:
            if self.type in (int, float):
                return self.type(text)
            if get_origin(self.type) is tuple:
                return tuple(float(word) for word in text.split(","))
            return _rows(json.loads(text))
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise GeneratorError(f"{self.flag}: cannot parse '{text}'; {self.help}") from error


@dataclass(frozen=True)
class Kind:
    """A kind of arrivals: its name, generator and options.

    >>> KINDS["poisson"].build(rate_per_s=10.0, count=5)
    Poisson(duration_s=None, count=5, rate_per_s=10.0)
    """

    name: str
    generator: type[Generator]

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return (getdoc(self.generator) or "").splitlines()[0]

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Options; those of this kind come before the common ones."""
        hints = get_type_hints(self.generator)
        described = [
            Parameter(
                name=field.name,
                type=_without_none(hints[field.name]),
                help=field.metadata["help"],
                default=None if field.default is MISSING else field.default,
                required=field.default is MISSING,
            )
            for field in fields(self.generator)  # type: ignore[arg-type]  # every generator is a dataclass
        ]
        own = self.generator.__annotations__
        return tuple(sorted(described, key=lambda parameter: parameter.name not in own))

    def parameter(self, name: str) -> Parameter:
        """Return an option by its name."""
        return next(parameter for parameter in self.parameters if parameter.name == name)

    def build(self, **options: Any) -> Generator:
        """Build the generator. Options that are None count as not given."""
        given = {name: value for name, value in options.items() if value is not None}
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                raise GeneratorError(f"{self.name} has no option {name}; it takes {', '.join(known)}")
        for parameter in self.parameters:
            if parameter.required and parameter.name not in given:
                raise GeneratorError(f"{self.name} needs {parameter.name} ({parameter.flag}): {parameter.help}")
        return self.generator(**given)


KINDS = {
    kind.name: kind
    for kind in (
        Kind("poisson", Poisson),
        Kind("map", Markovian),
        Kind("self-similar", SelfSimilar),
        Kind("random-walk", RandomWalk),
        Kind("steps", Steps),
        Kind("synt", Synt),
        Kind("live-maps", LiveMapsStandIn),
    )
}
"""The kinds of arrivals that ``mead generate`` knows."""


def _rows(value: Any) -> list[list[float]]:
    """Convert a JSON value to a matrix. Raises an error if it is not rows of numbers."""
    if not isinstance(value, list) or any(not isinstance(row, list) for row in value):
        raise TypeError("a matrix is a list of rows")
    if any(isinstance(rate, bool | str) for row in value for rate in row) or len({len(row) for row in value}) != 1:
        raise ValueError("the rows hold numbers and are equally long")
    return [[float(rate) for rate in row] for row in value]


def _without_none(hint: Any) -> Any:
    if get_origin(hint) in (Union, types.UnionType):
        return next(member for member in get_args(hint) if member is not type(None))
    return hint
