"""Typed keys of all files that users write, and errors of one line that name the key.

Unknown keys are refused, so that a misspelt one is not ignored. Types and ranges are checked here; the models check
whether matrices are a MAP or edges a graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypeAlias, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

LARGEST = 1e12
"""Times and rates lie between this and its inverse, in seconds and 1/s; others have a wrong unit."""

LEAST_PERCENT, MOST_PERCENT = 1.0, 99.99999999
"""The percentiles that the models compute with accuracy."""

SHOWN_CHARACTERS = 40
"""How much of a wrong value an error message repeats."""

SECRET = re.compile(r"amqp|://|@")
"""Occurs in values that may hold a password; no message repeats them."""

LONGEST_NAME = 100
"""Longest name of an operator or pipeline: folders, control groups and columns are named after them."""

MOST_OPERATORS, MOST_EDGES = 200, 1000
"""The most operators and edges of a pipeline or of a network to solve."""

MOST_CASE_BYTES = 16 * 1024 * 1024
"""Largest size of a JSON file: room for the matrices of a MAP of several hundred states."""


KeyPath: TypeAlias = tuple[int | str, ...]
"""Where a key stands, such as ``("operators", 2, "demand_s")``."""


class ConfigError(ValueError):
    """A mistake in a file. The message is one line that begins with the path of the key."""

    def __init__(self, complaint: str, location: KeyPath = ()) -> None:
        super().__init__(f"{_key_path(location)}{complaint}")
        self.complaint, self.location = complaint, location


def printable(text: str) -> str:
    r"""The text without control characters, so that names and reasons cannot move the cursor of a terminal.

    >>> printable("mat\x1b[2Jcher")
    'mat?[2Jcher'
    """
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def wrong_key(key: str | KeyPath, complaint: str) -> PydanticCustomError:
    """The error that a validator of several keys raises about one of them, or about a key inside them."""
    location = (key,) if isinstance(key, str) else key
    return PydanticCustomError("wrong_key", "{complaint}", {"location": location, "complaint": complaint})


def shown(value: object) -> str:
    """A wrong value as an error message repeats it.

    >>> shown(-1), shown("amqp://me:secret@host")
    ('-1', 'a value that is not shown, as it may hold a password')
    """
    text = repr(value)
    if SECRET.search(text):
        return "a value that is not shown, as it may hold a password"
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The nearest known words, to be appended to an error; empty if none is near.

    >>> did_you_mean("demand", ["name", "demand_s"])
    '; did you mean demand_s?'
    """
    near = get_close_matches(word, list(known), n=2, cutoff=0.6)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _of_usual_size(value: float) -> float:
    if not 1 / LARGEST <= value <= LARGEST:
        raise ValueError(f"must lie between {1 / LARGEST:g} and {LARGEST:g}, check the unit; got {value:g}")
    return value


def _with_selectivity(edge: object) -> object:
    if not isinstance(edge, list):
        return edge
    return (*edge, 1.0) if len(edge) == 2 else tuple(edge)


def _fit_for_a_folder(name: str) -> str:
    if not name.isprintable() or "/" in name or name.startswith("."):
        raise ValueError(
            f"must be printable, without / and no point at its beginning: folders are named after it; got {name[:40]!a}"
        )
    return name


Positive = Annotated[float, Field(gt=0), AfterValidator(_of_usual_size)]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(_fit_for_a_folder)]
Percent = Annotated[float, Field(ge=LEAST_PERCENT, le=MOST_PERCENT)]
EdgeKey = Annotated[tuple[str, str, Positive], BeforeValidator(_with_selectivity)]


class Keys(BaseModel):
    """The base of all parts of a file: strict types, no unknown keys, immutable."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    @property
    def given(self) -> set[str]:
        """The keys that have a value; null is none."""
        return {name for name, value in self if value is not None}


Parsed = TypeVar("Parsed", bound=BaseModel)


def parse(kind: type[Parsed], text: bytes | str) -> Parsed:
    """A file of JSON as its typed value, or a ConfigError that names the first key that is wrong.

    >>> class Share(Keys):
    ...     share: Positive
    >>> parse(Share, b'{"share": -1}')
    Traceback (most recent call last):
        ...
    mead.keys.ConfigError: share: must be > 0; got -1
    >>> parse(Share, b'{"shares": 1}')
    Traceback (most recent call last):
        ...
    mead.keys.ConfigError: shares: there is no such key; did you mean share?
    """
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        found = error.errors(include_url=False)
        # A misspelt key is also a missing one; its spelling says more.
        first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
        raise _located(kind, first) from error


def read_file(path: Path, most_bytes: int = MOST_CASE_BYTES) -> bytes:
    """The bytes of a file, or a ConfigError. An endless file, such as a device, is read up to the limit."""
    try:
        with path.open("rb") as file:
            return read_to_end(file, most_bytes)
    except OSError as error:
        raise ConfigError(f"cannot be read ({error.strerror or error})") from error


def read_to_end(file: BinaryIO, most_bytes: int = MOST_CASE_BYTES) -> bytes:
    """The rest of an open file, or a ConfigError if it is too long."""
    text = file.read(most_bytes + 1)
    if len(text) > most_bytes:
        raise ConfigError(f"is longer than {most_bytes:,} bytes, the most that are read")
    return text


def _key_path(location: KeyPath) -> str:
    path = ""
    for key in location:
        path += f"[{key}]" if isinstance(key, int) else f".{key}" if key.isidentifier() else f"[{shown(key)}]"
    return f"{path.removeprefix('.')}: " if path else ""


def _located(kind: type[BaseModel], error: Any) -> ConfigError:
    """The complaint about the first wrong key, with its place in the file."""
    models, location = [kind], tuple(error["loc"])
    for key in location:
        fields = [model.model_fields[key] for model in models if key in model.model_fields]
        if fields:
            models = [model for field in fields for model in _models_in(field.annotation)]
    if error["type"] == "extra_forbidden":
        known = [name for model in models for name in model.model_fields]
        return ConfigError(f"there is no such key{did_you_mean(str(location[-1]), known)}", location)
    if error["type"] == "wrong_key":
        return ConfigError(error["ctx"]["complaint"], (*location, *error["ctx"]["location"]))
    return ConfigError(_complaint(error), location)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """All models that a value of this type may be made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _complaint(error: Any) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "missing":
        return "is missing"
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
    return f"{rule}; got {shown(error['input'])}"


FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def _function(text: str) -> str:
    if not FUNCTION.fullmatch(text):
        raise ValueError(f"must be module:name, such as my.operators:parse; got {shown(text)}")
    return text


Function = Annotated[str, AfterValidator(_function)]
"""The name of a function or class, such as ``my.operators:parse``."""
