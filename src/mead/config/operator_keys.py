"""The keys of an operator: its demand, its levels, its micro-batches, and its function on Spark."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from mead.config.source_keys import Text
from mead.keys import Function, Keys, Name, Positive, wrong_key
from mead.queueing import MAX_ERLANG_PHASES
from mead.values import Batches, Operator

MOST_LEVELS_OF_SHARE = 100
MOST_REPLICAS = 10_000

Replicas = Annotated[int, Field(ge=1, le=MOST_REPLICAS)]
GroupingKind: TypeAlias = Literal["shuffle", "round_robin", "least_utilised", "weighted_random"]


def _rising(shares: tuple[float, ...]) -> tuple[float, ...]:
    if list(shares) != sorted(set(shares)):
        raise ValueError(f"levels must rise from one to the next; got {list(shares)}")
    return shares


Shares = Annotated[tuple[Positive, ...], Field(min_length=1, max_length=MOST_LEVELS_OF_SHARE), AfterValidator(_rising)]
NotNegative = Annotated[float, Field(ge=0, le=1e6)]


class ReplicasKeys(Keys):
    """How many parallel tasks an operator may have."""

    min: Replicas = Field(default=1, description="fewest parallel tasks")
    max: Replicas = Field(description="most parallel tasks")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min > self.max:
            raise wrong_key("min", f"must not exceed max, which is {self.max}; got {self.min}")
        return self


class GroupingKeys(Keys):
    """The choice between replicas (PA-SPS, load-aware grouping): of tuples, or of the rows of a micro-batch."""

    kind: GroupingKind = Field(
        description="any replica with equal probability, all in turn, Algorithm 1 of PA-SPS, or at random weighted by "
        "load; with `batch` and on Spark, in turn or by Algorithm 1"
    )
    speeds: Annotated[tuple[Positive, ...], Field(max_length=MOST_REPLICAS)] = Field(
        default=(),
        description="in virtual time, without `batch`: speeds of the replicas relative to their share; default all 1",
    )
    interval_s: Positive = Field(
        default=1.0,
        description="time between two measurements of the loads, s; without effect on micro-batches, which are "
        "measured one by one",
    )


class BatchKeys(Keys):
    """An operator that works in micro-batches: n tuples take overhead + n demand / share."""

    overhead_s: NotNegative = Field(description="fixed time that every micro-batch costs, s")
    trigger_s: Positive | None = Field(
        default=None, description="time from the start of a micro-batch to the next, s; default the next starts at once"
    )
    max_tuples: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="most tuples in a micro-batch; default all that wait"
    )


class OperatorKeys(Keys):
    """One processing step: in Spark, a streaming query with its own Python workers."""

    name: Name = Field(description="unique; without >, which joins names to paths")
    demand_s: Positive = Field(description="CPU seconds that one tuple costs at full share")
    scv: NotNegative | None = Field(
        default=None, description="squared coefficient of variation of the demand; default 0.5"
    )
    phases: Annotated[int, Field(ge=1, le=MAX_ERLANG_PHASES)] | None = Field(
        default=None, description="of an Erlang distributed demand, in place of scv, which is then 1/phases; default 2"
    )
    shares: Shares | None = Field(
        default=None,
        description="CPU cores that it may have, rising from level to level; default those of the pipeline",
    )
    replicas: ReplicasKeys = Field(
        default=ReplicasKeys(min=1, max=1), description="parallel tasks that it may have; default one"
    )
    price: Positive | None = Field(
        default=None, description="price of a core, relative to those of other operators; default 1"
    )
    prices: Annotated[tuple[Positive, ...], Field(min_length=1, max_length=MOST_LEVELS_OF_SHARE)] | None = Field(
        default=None, description="in place of price: the price of a replica at each of its shares; default price"
    )
    batch: BatchKeys | None = Field(default=None, description="micro-batches; default tuple by tuple")
    grouping: GroupingKeys | None = Field(
        default=None,
        description="a queue for every replica, or parts of a micro-batch; default one queue, and equal parts",
    )
    function: Function | None = Field(
        default=None, description="what it does on Spark with every Arrow batch, module:name; default nothing"
    )
    transform: Function | None = Field(
        default=None,
        description="in place of function: what it does with the whole stream, module:name; default nothing",
    )
    options: dict[str, Any] | None = Field(
        default=None,
        description="arguments, if function or transform is a factory: it is called with them and returns the "
        "function or transform; default none",
    )
    output: Text | None = Field(
        default=None,
        description="columns that function or transform returns, and their types; default OUTPUT_SCHEMA of its module, "
        "and what Spark finds out of a transform that is part of no loop",
    )
    counts: Text | None = Field(
        default=None,
        description="column of few values that a function returns: its rows are counted by value, exactly once since "
        "the first run in the folder; default none",
    )

    key: Annotated[tuple[Text, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="columns of its input: all rows of a micro-batch with the same key are given to function at once, "
        "in one task; default none",
    )
    state: Text | None = Field(
        default=None,
        description="columns that function keeps for each key, and their types; default STATE_SCHEMA of its module, "
        "or no state",
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if self.scv is not None and self.phases is not None:
            raise wrong_key("phases", "give scv or phases, not both")
        if self.price is not None and self.prices is not None:
            raise wrong_key("prices", "give price or prices, not both")
        return self

    @model_validator(mode="after")
    def _work(self) -> Self:
        if self.function is not None and self.transform is not None:
            raise wrong_key("transform", "give function or transform, not both")
        if self.function is None and self.transform is None and self.output is not None:
            raise wrong_key("output", "belongs to a function or a transform")
        if self.function is None and self.counts is not None:
            raise wrong_key("counts", "belongs to a function; a transform can keep a state of its own")
        if self.key is not None and self.function is None:
            raise wrong_key("key", "belongs to a function")
        if self.state is not None and self.key is None:
            raise wrong_key("state", "needs a key: the columns that it is kept for")
        return self

    @model_validator(mode="after")
    def _grouped(self) -> Self:
        if self.grouping is not None and self.batch is not None:
            if self.grouping.kind not in {"round_robin", "least_utilised"}:
                raise wrong_key("grouping", f"{self.grouping.kind} is for tuples one by one, without batch")
            if self.grouping.speeds:
                raise wrong_key(
                    "grouping", "remove speeds, which are for tuples one by one; Spark measures its workers"
                )
        if self.grouping is not None and len(self.grouping.speeds) > self.replicas.max:
            raise wrong_key("grouping", f"names {len(self.grouping.speeds)} speeds for {self.replicas.max} replicas")
        return self

    def operator(self, shares: tuple[float, ...]) -> Operator:
        """The operator, with the shares of the pipeline where it has none of its own."""
        scv = self.scv if self.scv is not None else 1 / (self.phases or 2)
        batch = self.batch
        batches = None if batch is None else Batches(batch.overhead_s, batch.trigger_s, batch.max_tuples)
        return Operator(
            self.name,
            self.demand_s,
            scv,
            self.shares or shares,
            self.replicas.min,
            self.replicas.max,
            batches,
            self.prices or self.price or 1.0,
        )
