"""PA-SPS on a system that restarts for every change, in place of DABS-Storm."""

from __future__ import annotations

from math import inf
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from mead.keys import wrong_key
from mead.policies.base import Restart
from mead.policies.pasps.policy import ForecastKeys, Outlook, PaSps
from mead.policies.reasons import Restarting
from mead.policies.registry import register
from mead.queueing import USUAL_QUANTILE, Predictor
from mead.values import Cause, Knowledge, Observation, Plan, Reason


class DabsOptions(ForecastKeys):
    """A stand-in for DABS-Storm: a regression forecasts, and every change restarts the pipeline."""

    name: Literal["dabs"] = "dabs"
    downtime_s: Annotated[float, Field(ge=0)] = Field(
        default=15.0, description="time that a restart takes, s; in virtual time the pipeline is down for it"
    )
    loses: bool = Field(default=True, description="a restart loses waiting and arriving tuples; otherwise they wait")
    hold_down_s: Annotated[float, Field(ge=0)] = Field(
        default=120.0, description="time after a change in which nothing is lowered, s"
    )

    @property
    def method(self) -> tuple[Predictor, float]:
        """Linear regression."""
        return "lr", USUAL_QUANTILE

    @property
    def restart(self) -> Restart:
        """Every change restarts the topology."""
        return Restart(self.downtime_s, self.loses)

    @model_validator(mode="after")
    def _on_one_level(self) -> Self:
        if self.two_level:
            raise wrong_key("two_level", "is not for this policy: every split would restart the pipeline")
        return self


@register(DabsOptions)
class Dabs(PaSps):
    """A stand-in for DABS-Storm (Kombi et al., TLDKS 2019), with which the PA-SPS paper compares itself.

    The paper says that a regression forecasts the input, that pending events count, and that every change of replicas
    restarts the topology. It gives no formulas, so those of PA-SPS are used. Replicas rise as soon as they are needed,
    and fall only ``hold_down_s`` after the last change, because every restart costs. The engine makes the downtime.
    """

    def __init__(self, options: DabsOptions) -> None:
        super().__init__(options)
        self.downtime_s = options.downtime_s
        self._up_s = -inf

    def plan(self, observation: Observation, analysis: Outlook, knowledge: Knowledge) -> Plan:
        """The plan of PA-SPS; no change while a restart lasts."""
        if observation.time_s < self._up_s:
            return Plan.keep(observation.allocation, Reason(Cause.UNDER_WAY, (Restarting(self._up_s),)))
        plan = super().plan(observation, analysis, knowledge)
        if plan.allocation != observation.allocation:
            self._up_s = observation.time_s + self.downtime_s
        return plan
