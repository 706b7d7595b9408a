"""What joins the operators of a live pipeline: the key ``streams`` of a pipeline file."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from mead.config.source_keys import LOCAL_BROKER, Text
from mead.keys import Keys

AGE = re.compile(r"[1-9][0-9]*[YMDhms]")


def _age(text: str) -> str:
    if not AGE.fullmatch(text):
        raise ValueError(f"must be a number and one of Y, M, D, h, m and s, such as 12h or 7D; got {text!r}")
    return text


class RabbitMQStreamsKeys(Keys):
    """RabbitMQ streams: one for each operator whose output others read, declared if it is not there."""

    url: Text = Field(default=LOCAL_BROKER, description="of the broker")
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
