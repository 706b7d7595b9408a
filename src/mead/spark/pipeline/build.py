"""Build the parts of a live run from a pipeline file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from mead.broker_url import fill_in
from mead.config import OperatorKeys, PayloadKeys, PipelineFile, RabbitMQKeys, SourceKeys
from mead.keys import ConfigError, KeyPath
from mead.loading import load_object, modules_in
from mead.spark.pipeline.operators import OnBatches, OnKeys, OnStream, Work
from mead.spark.sources.broker_inputs import RabbitMQInput, SparkInput
from mead.spark.sources.inputs import Input, TraceInput
from mead.spark.sources.rabbitmq.blocks import RabbitStreams
from mead.spark.sources.rabbitmq.stream import Retention
from mead.spark.sources.trace import SPARE_S
from mead.values import Batches, Pipeline
from mead.workload import KINDS, GeneratorError, Trace, TraceError, read_trace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEFAULT_OVERHEAD_S = 0.1
"""Overhead of a micro-batch that is assumed until it has been learned."""

ARRIVALS = "arrivals.npy"


def live_pipeline(pipeline: Pipeline, batches: Mapping[str, Batches] = MappingProxyType({})) -> Pipeline:
    """Return the pipeline with all operators in micro-batches, by default with ``batches``."""
    usual = Batches(DEFAULT_OVERHEAD_S)
    operators = [replace(o, batches=o.batches or batches.get(o.name, usual)) for o in pipeline.operators]
    return Pipeline(pipeline.name, operators, pipeline.edges, pipeline.requirements)


def load_work(file: PipelineFile, beside: Path) -> dict[str, Work]:
    """Load the work of every operator. Modules may lie beside the pipeline file."""
    if file.keys.processors is not None:
        raise ConfigError("only applies to virtual time; remove it to run on Spark", ("processors",))
    modules_in(beside)
    return {keys.name: _work(keys, place) for place, keys in enumerate(file.keys.operators)}


def load_source(
    file: PipelineFile,
    beside: Path,
    run: Path,
    duration_s: float | None,
    warm_up: Path,
    *,
    instead: Trace | None = None,
    start_over: bool = False,
) -> Input:
    """Return the input of the pipeline.

    Arrivals are kept in the folder ``run``. A continued run has them already, and does not make them anew unless it
    is to ``start_over``. Arrivals ``instead`` of those of the file may be given.
    """
    keys = file.keys.source
    if keys is None:
        raise ConfigError("to run live, a pipeline needs a source: trace, generate, rabbitmq or stream", ("source",))
    if keys.rabbitmq is not None:
        return _rabbitmq(keys.rabbitmq)
    if keys.stream is not None:
        opened: Callable[[SparkSession], DataFrame] = load_object(keys.stream, ("source", "stream"))
        return SparkInput(opened)
    arrivals, times_us = run / ARRIVALS, None
    if start_over or not arrivals.exists():
        trace = instead or _trace(keys, beside, duration_s)
        times_us = trace.timestamps_us - trace.timestamps_us[0]
    played = keys.trace or keys.generate
    assert played is not None  # noqa: S101 - one of the four is given
    payload: PayloadKeys | None = played.payload
    if payload is not None:
        where = ("source", "trace" if keys.trace else "generate", "payload", "function")
        _load(payload.function, payload.options, where)  # report mistakes before anything starts
    return TraceInput(
        arrivals,
        played.speed,
        warm_up,
        payload.function if payload else None,
        payload.columns if payload else None,
        json.dumps(payload.options) if payload and payload.options is not None else None,
        times_us,
    )


def load_streams(file: PipelineFile) -> RabbitStreams | None:
    """Return the RabbitMQ streams that join the operators; None for embedded logs."""
    keys = file.keys.streams
    if keys is None:
        return None
    told = keys.rabbitmq
    url = _broker(told.url, ("streams", "rabbitmq", "url"))
    return RabbitStreams(url, told.prefix or file.pipeline.name, Retention(told.max_age, told.max_length_bytes))


def _trace(keys: SourceKeys, beside: Path, duration_s: float | None) -> Trace:
    if keys.trace is not None:
        try:
            return read_trace(beside / keys.trace.path)
        except TraceError as error:
            raise ConfigError(str(error), ("source", "trace", "path")) from error
    generate = keys.generate
    assert generate is not None  # noqa: S101 - as above
    if generate.kind not in KINDS:
        raise ConfigError(
            f"unknown kind of arrivals {generate.kind!r}; choose from {', '.join(KINDS)}",
            ("source", "generate", "kind"),
        )
    options, takes = dict(generate.options), {parameter.name for parameter in KINDS[generate.kind].parameters}
    if "duration_s" in takes and not {"duration_s", "count"} & options.keys():  # others say how long they are
        if duration_s is None:
            raise ConfigError(
                "give duration_s or count, because the run has no duration", ("source", "generate", "options")
            )
        options["duration_s"] = (duration_s + SPARE_S) * generate.speed
    try:
        return KINDS[generate.kind].build(**options).generate(np.random.default_rng(generate.seed))
    except (GeneratorError, TypeError, ValueError) as error:
        raise ConfigError(str(error), ("source", "generate", "options")) from error


def _rabbitmq(keys: RabbitMQKeys) -> Input:
    url = _broker(keys.url, ("source", "rabbitmq", "url"))
    options = {"url": url, "stream": keys.stream, "value": keys.value, "startingOffsets": keys.start}
    options |= ({"exchange": keys.exchange} if keys.exchange else {}) | {"create": "true"}
    return RabbitMQInput(options, keys.tap)


def _broker(url: str, where: KeyPath) -> str:
    """Return the url of a broker with its variables filled in."""
    try:
        return fill_in(url)
    except ValueError as error:
        raise ConfigError(str(error), where) from None


def _work(keys: OperatorKeys, place: int) -> Work:
    where = ("operators", place)
    load_aware = _is_load_aware(keys, where)
    if keys.transform is not None:
        transform = _load(keys.transform, keys.options, (*where, "transform"))
        return OnStream(transform, keys.output or _declared(keys.transform))
    if keys.function is None:
        raise ConfigError("to run live, an operator needs a function or a transform", where)
    function = _load(keys.function, keys.options, (*where, "function"))
    schema = keys.output or _declared(keys.function)
    if schema is None:
        raise ConfigError(
            "declare the columns that the function returns: here, or as OUTPUT_SCHEMA in its module", (*where, "output")
        )
    if keys.key is None:
        return OnBatches(function, schema, keys.counts, load_aware)
    return OnKeys(
        function, schema, keys.counts, keys=keys.key, state=keys.state or _declared(keys.function, "STATE_SCHEMA")
    )


def _is_load_aware(keys: OperatorKeys, where: KeyPath) -> bool:
    """Return whether a grouping divides micro-batches by the speed of workers; without one they are divided evenly."""
    if keys.grouping is None or keys.grouping.kind == "round_robin":
        return False
    if keys.grouping.kind != "least_utilised":
        raise ConfigError(
            "only applies to virtual time; on Spark, choose round_robin or least_utilised", (*where, "grouping", "kind")
        )
    if keys.transform is not None:
        raise ConfigError("is for a function; Spark divides the rows of a transform", (*where, "grouping"))
    if keys.key is not None:
        raise ConfigError("is for a function without key; a key decides which task gets a row", (*where, "grouping"))
    return True


def _declared(name: str, what: str = "OUTPUT_SCHEMA") -> str | None:
    """Return columns declared beside a function or a transform."""
    return getattr(sys.modules[name.partition(":")[0]], what, None)


def _load(name: str, options: Mapping[str, Any] | None, where: tuple[int | str, ...]) -> Any:
    """Import a function or transformation, or call the named factory with the options."""
    found = load_object(name, where)
    if options is None:
        return found
    try:
        return found(**options)
    except (TypeError, ValueError, OSError) as error:
        raise ConfigError(f"{name} does not take these options: {error}", (*where[:-1], "options")) from error
