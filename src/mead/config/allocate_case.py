"""The case that ``mead allocate`` takes, in the letters of the DRS paper (Fu et al. 2017, Table I)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from mead.keys import Keys, wrong_key

MOST_PROCESSORS = 10_000_000
"""Beyond this a number of processors is a mistake."""

Rate = Annotated[float, Field(ge=0, le=1e12)]
Rates = Annotated[tuple[Rate, ...], Field(min_length=1)]
Processors = Annotated[int, Field(ge=1, le=MOST_PROCESSORS)]


class AllocateCase(Keys):
    """Where to place processors; or, without ``mu_i``, how many tuples reach every operator."""

    lambda0: Annotated[float, Field(gt=0, le=1e12)] | None = Field(
        default=None, description="tuples per second from outside"
    )
    lambda_i: Rates | None = Field(default=None, description="tuples per second at every operator")
    gamma: Rates | None = Field(default=None, description="in place of both: tuples from outside, by operator")
    G: tuple[tuple[Rate, ...], ...] | None = Field(
        default=None, description="with gamma: G[i][j] tuples go to operator j for each that operator i has served"
    )
    mu_i: Annotated[tuple[Annotated[float, Field(gt=0, le=1e12)], ...], Field(min_length=1)] | None = Field(
        default=None, description="tuples per second that one processor can serve"
    )
    a_i: Rates | None = Field(default=None, description="SCVs of the inter-arrival times; default 1 each")
    s_i: Rates | None = Field(default=None, description="SCVs of the service times; default 1 each")
    model: Literal["mmk", "ggk_ac", "ggk_whitt"] = Field(
        default="mmk", description="M/M/k (eq. 1), GI/G/k (eq. 5), or that with Whitt's refinement"
    )
    Kmax: Processors | None = Field(default=None, description="processors to place for the shortest sojourn time")
    Tmax: Annotated[float, Field(gt=0, le=1e12)] | None = Field(
        default=None, description="sojourn time to keep with the fewest processors, s"
    )
    Kcap: Processors | None = Field(default=None, description="with Tmax: no more processors than these")
    # Collections of test cases carry a name, notes and expected answers beside the case. They are not looked at.
    id: Any = None
    name: Any = None
    kind: Any = None
    note: Any = None
    topology: Any = None
    expected: Any = None
    brute_force: Any = None
    T_L_correct: Any = None
    T_L_paper_literal: Any = None
    paper_literal_algorithm1: Any = None
    paper_literal_rejects: Any = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        given = self.given
        if given & {"lambda0", "lambda_i", "gamma", "G"} not in ({"lambda0", "lambda_i"}, {"gamma", "G"}):
            raise ValueError("give lambda0 and lambda_i, or gamma and G")
        if self.mu_i is None and ("gamma" not in given or given & {"Kmax", "Tmax"}):
            raise wrong_key("mu_i", "is missing: how many tuples per second one processor can serve")
        if self.mu_i is not None and len(given & {"Kmax", "Tmax"}) != 1:
            raise ValueError("give Kmax to place so many processors, or Tmax to find the fewest that keep it")
        if self.Kcap is not None and self.Tmax is None:
            raise wrong_key("Kcap", "limits a search for Tmax; Kmax needs no other limit")
        count = len(self.lambda_i or self.gamma or ())
        for key in ("mu_i", "a_i", "s_i"):
            if (values := getattr(self, key)) is not None and len(values) != count:
                raise wrong_key(key, f"must have one entry for each of the {count} operators; got {len(values)}")
        if self.G is not None and (len(self.G) != count or any(len(row) != count for row in self.G)):
            raise wrong_key("G", f"must have {count} rows and columns, one for each operator")
        return self
