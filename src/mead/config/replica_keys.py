"""Keys about the replicas of an operator: how many there may be, and who of them gets a tuple."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from mead.keys import Keys, Positive, wrong_key

MOST_REPLICAS = 10_000

Replicas = Annotated[int, Field(ge=1, le=MOST_REPLICAS)]
GroupingKind: TypeAlias = Literal["shuffle", "least_utilised", "weighted_random"]


class ReplicasKeys(Keys):
    """How many parallel tasks an operator may have."""

    min: Replicas = Field(default=1, description="at least so many")
    max: Replicas = Field(description="at most so many")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min > self.max:
            raise wrong_key("min", f"must not exceed max, which is {self.max}; got {self.min}")
        return self


class GroupingKeys(Keys):
    """In virtual time, a queue for every replica, and who gets a tuple (PA-SPS, load-aware grouping)."""

    kind: GroupingKind = Field(
        description="any replica, all equally likely; Algorithm 1 of PA-SPS; or at random by weights of the loads"
    )
    speeds: Annotated[tuple[Positive, ...], Field(max_length=MOST_REPLICAS)] = Field(
        default=(), description="of the replicas, over that of their share; default all 1"
    )
    interval_s: Positive = Field(default=1.0, description="time between two measurements of the loads, s")
