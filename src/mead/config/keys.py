"""What all files that people write have in common: typed keys, and complaints of one line that name the key.

Keys that are not known are refused, so that a misspelt one is never silently ignored. What a file says is checked here
for its shape and its ranges; whether matrices are a MAP or edges a graph is for the models to say.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

LARGEST = 1e12
"""Times and rates lie between this and its inverse, in seconds and 1/s; anything else is a mistaken unit."""

LEAST_PERCENT, MOST_PERCENT = 1.0, 99.99999999
"""Within these percentiles the models have digits to show. Beyond them rounding decides."""

SHOWN_CHARACTERS = 40
"""How much of a wrong value an error message repeats."""


class ConfigError(ValueError):
    """A file does not say what it must. The message is one line that begins with the path of the key."""


def _of_usual_size(value: float) -> float:
    if not 1 / LARGEST <= value <= LARGEST:
        raise ValueError(f"must lie between {1 / LARGEST:g} and {LARGEST:g}, check the unit; got {value:g}")
    return value


def _with_selectivity(edge: object) -> object:
    if not isinstance(edge, list):
        return edge
    return (*edge, 1.0) if len(edge) == 2 else tuple(edge)


Positive = Annotated[float, Field(gt=0), AfterValidator(_of_usual_size)]
Percent = Annotated[float, Field(ge=LEAST_PERCENT, le=MOST_PERCENT)]
EdgeKey = Annotated[tuple[str, str, Positive], BeforeValidator(_with_selectivity)]


class Keys(BaseModel):
    """What all parts of a file share: numbers are numbers, keys are known ones, values do not change."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    @property
    def given(self) -> set[str]:
        """The keys that have a value; null is none."""
        return {name for name, value in self if value is not None}


Parsed = TypeVar("Parsed", bound=BaseModel)


def parsed(kind: type[Parsed], text: bytes) -> Parsed:
    """A file of JSON as its typed value, or a ConfigError that names the first key that is wrong.

    >>> class Share(Keys):
    ...     share: Positive
    >>> parsed(Share, b'{"share": -1}')
    Traceback (most recent call last):
        ...
    mead.config.keys.ConfigError: share: must be > 0; got -1
    """
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ConfigError(f"{_key_path(first['loc'])}{_complaint(first)}") from error


def read_file(path: Path) -> bytes:
    """The bytes of a file, or a ConfigError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot be read ({error.strerror or error})") from error


def _key_path(location: tuple[int | str, ...]) -> str:
    path = ""
    for key in location:
        path += f"[{key}]" if isinstance(key, int) else f".{key}" if key.isidentifier() else f"[{key!r}]"
    return f"{path.removeprefix('.')}: " if path else ""


def _complaint(error: Any) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return "there is no such key"
    if kind == "json_invalid":
        return f"not JSON: {context['error']}"
    if kind == "value_error":
        return str(context["error"])
    if kind in ("too_short", "too_long"):
        bound = context["min_length" if kind == "too_short" else "max_length"]
        least = "at least" if kind == "too_short" else "at most"
        return f"must have {least} {bound} {'entry' if bound == 1 else 'entries'}; got {context['actual_length']}"
    limit = {"greater_than": ">", "greater_than_equal": ">=", "less_than": "<", "less_than_equal": "<="}.get(kind)
    if limit:
        bound = next(iter(context.values()))
        rule = f"must be {limit} {bound:.12g}"
    else:
        rule = error["msg"].replace("Input should", "must", 1)
    shown = repr(error["input"])
    return f"{rule}; got {shown if len(shown) <= SHOWN_CHARACTERS else shown[:SHOWN_CHARACTERS] + '...'}"
