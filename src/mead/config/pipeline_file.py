"""The pipeline file: operators, edges, requirements and policy in YAML, and how it becomes a pipeline.

Every key is typed here, with unit, default and meaning; the reference page is made from it. A mistake is one line
that names file, line and key.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from mead.broker_url import check_template
from mead.config.operator_keys import NotNegative, OperatorKeys, Replicas, Shares
from mead.config.policy_choice import PolicyKey
from mead.config.source_keys import RabbitMQKeys, RabbitMQStreamsKeys, SourceKeys, StreamsKeys
from mead.config.yaml_lines import MOST_BYTES, Document, LineError, read_yaml
from mead.keys import (
    LEAST_PERCENT,
    MOST_EDGES,
    MOST_OPERATORS,
    MOST_PERCENT,
    ConfigError,
    EdgeKey,
    Keys,
    Name,
    Positive,
    did_you_mean,
    parse,
    read_file,
    shown,
    wrong_key,
)
from mead.policies import DEFAULT
from mead.queueing import PATH_SEPARATOR, Edge, InvalidNetworkError
from mead.values import DEFAULT_SHARES, InvalidPipelineError, Knowledge, Pipeline, Requirement

MOST_LEVELS = 50_000
"""The most combinations of share and replicas of one operator: policies look at each."""

KEYS_BESIDE_URLS = frozenset(
    key for kind in (SourceKeys, RabbitMQKeys, StreamsKeys, RabbitMQStreamsKeys) for key in kind.model_fields
) | {"source", "streams"}
URL_LINE = re.compile(r"rabbitmq|url|amqp|://|@")
QUOTED_URL = re.compile(r"""\burl\s*:\s*(["'])(?P<url>[^"'\\]*)\1""")
"""A url in quotes, as the value of its key."""
PERCENTILE = re.compile(r"p([0-9]+(?:\.[0-9]+)?)_s")


class RequirementKeys(Keys):
    """Bounds on the mean or percentiles of one path; at least one."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[
        str, Annotated[Positive, Field(description="bound on a percentile, such as `p95_s` or `p99.9_s`, s")]
    ]

    path: str = Field(description="operators from source to sink, joined by >, such as parser>matcher")
    mean_s: Positive | None = Field(default=None, description="bound on the mean response time, s")

    @model_validator(mode="before")
    @classmethod
    def _percentiles_are_spelt_right(cls, values: object) -> object:
        if not isinstance(values, dict):
            return values
        for key in values:
            percentile = PERCENTILE.fullmatch(key)
            if key not in cls.model_fields and not percentile:
                near = did_you_mean(key, ["path", "mean_s", "p50_s", "p90_s", "p95_s", "p99_s", "p99.9_s"])
                raise wrong_key(key, f"there is no such key{near}")
            if percentile and not LEAST_PERCENT <= float(percentile[1]) <= MOST_PERCENT:
                raise wrong_key(key, f"a percentile must lie between {LEAST_PERCENT:g} and {MOST_PERCENT:.10g}")
        if not any(value is not None for key, value in values.items() if key != "path"):
            raise ValueError("give mean_s, or a percentile such as p95_s: the bound in seconds")
        return values

    @field_validator("path", mode="before")
    @classmethod
    def _path_is_one_text(cls, path: object) -> object:
        if isinstance(path, list):
            joined = PATH_SEPARATOR.join(map(str, path))
            complaint = f"must be text, with > between the operators: write {shown(joined)}, not a list"
            raise ValueError(complaint)  # noqa: TRY004 - pydantic does not take a TypeError for a mistake in a file
        return path

    def requirements(self) -> dict[str, Requirement]:
        """One for every bound, by its key."""
        mean = {} if self.mean_s is None else {"mean_s": Requirement(self.path, self.mean_s)}
        return mean | {
            key: Requirement(self.path, bound_s, percent=float(key[1:-2]))
            for key, bound_s in (self.__pydantic_extra__ or {}).items()
        }


class PipelineKeys(Keys):
    """A pipeline, its requirements, and the policy that decides on its resources."""

    name: Name = Field(description="of the pipeline")
    shares: Shares = Field(
        default=DEFAULT_SHARES, description="CPU cores that an operator may have, rising from level to level"
    )
    operators: Annotated[tuple[OperatorKeys, ...], Field(min_length=1, max_length=MOST_OPERATORS)] = Field(
        description="the processing steps"
    )
    edges: Annotated[tuple[EdgeKey, ...], Field(max_length=MOST_EDGES)] = Field(
        default=(),
        description="[from, to, selectivity]: the tuples sent for each that was served; selectivity 1 may be left out",
    )
    requirements: Annotated[tuple[RequirementKeys, ...], Field(max_length=MOST_EDGES)] = Field(
        default=(), description="bounds on response times"
    )
    policy: PolicyKey = Field(
        default={"name": DEFAULT}, validate_default=True, description="the policy that decides on the resources"
    )
    source: SourceKeys | None = Field(
        default=None, description="where tuples come from on Spark; default none, which is enough in virtual time"
    )
    streams: StreamsKeys | None = Field(
        default=None, description="what joins operators on Spark; default logs in the folder of the run"
    )
    processors: Replicas | None = Field(
        default=None,
        description="most replicas of all operators together, in virtual time; default no limit",
    )
    actuation_delay_s: NotNegative = Field(default=0.0, description="time from an order to its effect, s")
    replicas_delay_s: NotNegative | None = Field(
        default=None,
        description="the same for replicas, if they take longer than shares; default actuation_delay_s",
    )

    @model_validator(mode="after")
    def _replicas_no_sooner(self) -> Self:
        if self.replicas_delay_s is not None and self.replicas_delay_s < self.actuation_delay_s:
            raise wrong_key("replicas_delay_s", f"must not be below actuation_delay_s, {self.actuation_delay_s:g}")
        return self


class PipelineFile:
    """A pipeline file that has been read. Raises ConfigError if its parts do not fit together."""

    path: Path | None = None
    """Where it was read."""

    def __init__(self, keys: PipelineKeys, document: Document | None = None) -> None:
        self.keys, self.document = keys, document
        self.policy = keys.policy
        self._check_levels()
        self._check_statistics()
        counts = {}
        for part in ("operators", "edges", "requirements"):
            counts[part] = len(getattr(keys, part))
            if self._mistake(counts):
                self._blame(part, counts)
        self.pipeline = self._built(counts)
        self._check_processors()

    @property
    def knowledge(self) -> Knowledge:
        """The knowledge of a policy."""
        shares_s, replicas_s = self.keys.actuation_delay_s, self.keys.replicas_delay_s
        if replicas_s is None:
            return Knowledge(self.pipeline, shares_s)
        return Knowledge(self.pipeline, replicas_s, share_delay_s=shares_s)

    def with_options(self, operator: str, options: Mapping[str, Any]) -> PipelineFile:
        """The same file with other options for one operator's function."""
        operators = tuple(
            keys.model_copy(update={"options": dict(options)}) if keys.name == operator else keys
            for keys in self.keys.operators
        )
        changed = PipelineFile(self.keys.model_copy(update={"operators": operators}), self.document)
        changed.path = self.path
        return changed

    @contextmanager
    def naming_lines(self) -> Iterator[None]:
        """Add file and line to a ConfigError about a key of this file."""
        try:
            yield
        except ConfigError as error:
            if self.path is None or not error.location:
                raise
            document = self.document
            line = f":{document.line(error.location)}" if document and error.location[:1] in document.lines else ""
            raise ConfigError(f"{self.path}{line}: {error}") from error

    def _built(self, counts: Mapping[str, int]) -> Pipeline:
        """The pipeline made from the first ``counts[part]`` entries of every part."""
        first = {part: getattr(self.keys, part)[:count] for part, count in counts.items()}
        return Pipeline(
            self.keys.name,
            [operator.operator(self.keys.shares) for operator in first["operators"]],
            [Edge(*edge) for edge in first.get("edges", ())],
            [one for requirement in first.get("requirements", ()) for one in requirement.requirements().values()],
        )

    def _check_levels(self) -> None:
        for place, keys in enumerate(self.keys.operators):
            levels = len(keys.shares or self.keys.shares) * (keys.replicas.max - keys.replicas.min + 1)
            if levels > MOST_LEVELS:
                raise ConfigError(
                    f"with its shares these are {levels:,} choices; at most {MOST_LEVELS:,} are allowed",
                    ("operators", place, "replicas"),
                )

    def _check_statistics(self) -> None:
        """Refuse a second bound on a statistic of a path, naming its key: a pipeline would only know the entry."""
        bounds: dict[tuple[str, str], str] = {}
        for place, entry in enumerate(self.keys.requirements):
            for key, requirement in entry.requirements().items():
                statistic = requirement.path, requirement.statistic
                if statistic in bounds:
                    raise ConfigError(
                        f"there is a bound on the {requirement.statistic} of {requirement.path} already, "
                        f"{bounds[statistic]}; keep the stricter one",
                        ("requirements", place, key),
                    )
                bounds[statistic] = f"requirements[{place}].{key}"

    def _check_processors(self) -> None:
        least, there = sum(operator.min_replicas for operator in self.pipeline.operators), self.keys.processors
        if there is not None and there < least:
            raise ConfigError(f"must be at least {least}, the sum of min replicas; got {there}", ("processors",))

    def _mistake(self, counts: Mapping[str, int]) -> str:
        """The first contradiction between the parts; empty if there is none."""
        try:
            self._built(counts).paths  # noqa: B018 - all is checked as it is made
        except (InvalidPipelineError, InvalidNetworkError) as error:
            return str(error)
        return ""

    def _blame(self, part: str, counts: Mapping[str, int]) -> NoReturn:
        """Name the first entry with which a part no longer fits.

        Further entries never mend that, so it is bisected.
        """
        tried = range(1, counts[part] + 1)
        place = bisect_left(tried, 1, hi=len(tried) - 1, key=lambda n: bool(self._mistake({**counts, part: n})))
        raise ConfigError(self._mistake({**counts, part: tried[place]}), (part, place))


def read_pipeline(path: str | Path) -> PipelineFile:
    """Read a pipeline file.

    Raises ConfigError, in one line such as ``pipe.yaml:7: operators[2].demand_s: must be > 0``.
    """
    try:
        file = parse_pipeline(read_file(Path(path), MOST_BYTES))
    except LineError as error:
        raise ConfigError(f"{path}:{error.line}: {error}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    file.path = Path(path)
    return file


def parse_pipeline(text: bytes) -> PipelineFile:
    """The same from the text of a file; mistakes are LineErrors."""
    try:
        return _parsed(text)
    except LineError as error:
        raise _without_url(error, text) from error


def _parsed(text: bytes) -> PipelineFile:
    document = read_yaml(text)
    if not isinstance(document.value, dict):
        raise LineError(1, "a pipeline file is a mapping that begins with `name:` and `operators:`")
    try:
        return PipelineFile(parse(PipelineKeys, json.dumps(document.value)), document)
    except ConfigError as error:
        raise _at_its_line(error, document) from error


def _without_url(error: LineError, text: bytes) -> LineError:
    """The error without words from a line that may hold a url.

    A part of an unquoted password may look like a key.
    """
    line = text.splitlines()[error.line - 1 :][:1]
    if not line or not URL_LINE.search(shown := line[0].decode(errors="replace")):
        return error
    if error.location and (did_you_mean(str(error.location[-1]), KEYS_BESIDE_URLS) or _is_quoted(shown)):
        return error
    return LineError(error.line, "cannot be read: put quotes around the url, and check the keys", error.location[:-1])


def _is_quoted(line: str) -> bool:
    """Whether all urls of a line are whole and in quotes, so that its other words are keys and their values."""
    quoted = [found["url"] for found in QUOTED_URL.finditer(line)]
    try:
        for url in quoted:
            check_template(url)
    except ValueError:
        return False
    return bool(quoted) and not URL_LINE.search(QUOTED_URL.sub("", line).replace("rabbitmq", ""))


def _at_its_line(error: ConfigError, document: Document) -> LineError:
    complaint = error.complaint.replace("must be a valid array", "must be a list", 1)
    complaint = complaint.replace("must be an object", "must be a mapping such as {key: value}", 1)
    return LineError(document.line(error.location), " ".join(complaint.split()), error.location)
