"""The keys ``source`` and ``streams``: where tuples come from on Spark, and what joins operators."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from mead.broker_url import LOCAL_BROKER, check_template
from mead.keys import Function, Keys, Positive, wrong_key

Text = Annotated[str, Field(min_length=1)]
BrokerUrl = Annotated[
    str,
    BeforeValidator(check_template),
    Field(repr=False, description="of the broker; `${NAME}` is a variable of the environment, such as a password"),
]


class PayloadKeys(Keys):
    """The content of tuples, if only their arrivals are recorded or generated."""

    function: Function = Field(description="makes an Arrow batch from an array of tuple numbers, module:name")
    options: dict[str, Any] | None = Field(
        default=None,
        description="arguments, if function is a factory: it is called with them and returns the function; "
        "default none",
    )
    columns: Text = Field(description="the columns of that batch and their types, such as `line string`")


class TraceKeys(Keys):
    """A recorded trace, played by the wall clock."""

    path: Text = Field(description="of the trace: Parquet, CSV, text or .npy; relative to the pipeline file")
    speed: Positive = Field(default=1.0, description="seconds of the trace that pass in one second")
    payload: PayloadKeys | None = Field(default=None, description="what tuples carry; default nothing more")


class GenerateKeys(Keys):
    """Generated arrivals, played by the wall clock."""

    kind: Text = Field(description="as of `mead generate`: poisson, map, self-similar, ...")
    options: dict[str, Any] = Field(default={}, description="of that kind, such as `{rate_per_s: 330, idc: 200}`")
    seed: Annotated[int, Field(ge=0)] = Field(default=0, description="the same seed gives the same arrivals")
    speed: Positive = Field(default=1.0, description="seconds of the arrivals that pass in one second")
    payload: PayloadKeys | None = Field(default=None, description="what tuples carry; default nothing more")


class RabbitMQKeys(Keys):
    """A RabbitMQ stream. Its rows have the columns id, arrival_us, value and key."""

    url: BrokerUrl = LOCAL_BROKER
    stream: Text = Field(description="the name of the stream; declared if it is not there")
    exchange: Text | None = Field(default=None, description="an existing fanout exchange that feeds it; default none")
    value: Literal["string", "binary"] = Field(default="string", description="type of the column value")
    start: Literal["earliest", "latest"] = Field(default="earliest", description="where a new run begins")
    tap: bool = Field(
        default=False,
        description="whether a second reader, on the driver, tells MEAD the arrivals, before the first operator reads "
        "them; needed if messages have no header arrival_us",
    )


class SourceKeys(Keys):
    """Exactly one of these."""

    trace: TraceKeys | None = Field(default=None, description="a recorded trace; default none")
    generate: GenerateKeys | None = Field(default=None, description="generated arrivals; default none")
    rabbitmq: RabbitMQKeys | None = Field(default=None, description="a RabbitMQ stream; default none")
    stream: Function | None = Field(
        default=None,
        description="makes any other stream (Kafka, files, ...) from the Spark session, module:name; its rows need a "
        "column arrival_us; default none",
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = sorted(self.given)
        if len(given) > 1:
            raise wrong_key(given[1], f"give one source, not {' and '.join(given)}")
        if not given:
            raise ValueError(f"give one of {', '.join(type(self).model_fields)}")
        return self


AGE = re.compile(r"[1-9][0-9]*[YMDhms]")


def _age(text: str) -> str:
    if not AGE.fullmatch(text):
        raise ValueError(f"must be a number and one of Y, M, D, h, m and s, such as 12h or 7D; got {text!r}")
    return text


class RabbitMQStreamsKeys(Keys):
    """RabbitMQ streams: one for each operator whose output others read, declared if it is not there."""

    url: BrokerUrl = LOCAL_BROKER
    prefix: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        default=None,
        description="with which names of streams begin, as in `prefix.operator`; default the pipeline's name",
    )
    max_age: Annotated[str, AfterValidator(_age)] | None = Field(
        default=None,
        description="how long a new stream keeps rows, such as 12h or 7D; default what the broker was told",
    )
    max_length_bytes: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="how much a new stream keeps at most; default what the broker was told"
    )


class StreamsKeys(Keys):
    """Results leave by logs and Parquet files in any case."""

    rabbitmq: RabbitMQStreamsKeys = Field(description="RabbitMQ streams")
