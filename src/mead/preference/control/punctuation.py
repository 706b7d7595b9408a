"""K-slack: decides when to close panes and which late tuples to drop.

A punctuation with time stamp P says that no older tuple is still to come. K-slack sets P to the newest time stamp less
K, the longest delay seen (Alg. 1 of Mencagli, Torquati and Danelutto, "Elastic-PPQ", 2018). Tuples older than the last
possible P are dropped.

In the standard form, one tuple that is a minute late makes all later panes wait a minute. The adaptive form of the
released code waits for ``(1 - a) K`` and adapts a so that the target ratio of tuples is dropped. Neither learns from a
tuple that is late by more than a day: its time stamp is wrong, such as 0, and all panes would wait for ever.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from mead.arrays import IntArray
from mead.preference.control.far_stamps import DAY_US
from mead.preference.control.pid import PID, PIDState

LEAST_GAP_US = 10_000
"""Minimum time between two punctuations, in time of arrival."""

SAMPLE_US = 100_000
"""Sampling period of the adaptive form."""

NOTHING = -1
"""Stands for no punctuation."""

LATEST_US = 1 << 62
"""A time later than that of any tuple."""

STATE = np.dtype(
    [
        ("newest_us", np.int64),
        ("slack_us", np.int64),
        ("oldest_us", np.int64),
        ("bound_us", np.int64),
        ("punctuated_us", np.int64),
        ("offered", np.int64),
        ("dropped", np.int64),
    ]
)


@dataclass(frozen=True, eq=False)
class Admission:
    """Decisions of K-slack about tuples, in order of arrival."""

    late: npt.NDArray[np.bool_]
    """Whether each tuple is too late and has to be dropped."""
    punctuation: IntArray
    """The first open pane, where a punctuation is sent just before the tuple; -1 elsewhere."""


class KSlack:
    """K-slack over a stream. Depends only on time stamps and times of arrival.

    >>> slack = KSlack(pane_us=1000)
    >>> answer = slack.offer(np.array([500, 2500, 1500, 4000, 900]), np.array([0, 20_000, 21_000, 40_000, 41_000]))
    >>> answer.punctuation.tolist(), answer.late.tolist(), slack.slack_us
    ([0, 2, -1, 1, -1], [False, False, True, False, True], 2500)
    """

    def __init__(
        self,
        pane_us: int,
        target_drop_ratio: float = 0.0,
        least_gap_us: int = LEAST_GAP_US,
        *,
        fixed_us: int | None = None,
        longest_us: int = DAY_US,
    ) -> None:
        if not 0 <= target_drop_ratio < 1:
            raise ValueError(f"target_drop_ratio must be in [0, 1); got {target_drop_ratio:g}")
        if fixed_us is not None and fixed_us < 0:
            raise ValueError(f"the slack must be 0 us or more; got {fixed_us}")
        self.pane_us = pane_us
        self.target_drop_ratio = target_drop_ratio
        self.least_gap_us = least_gap_us
        self.fixed_us = fixed_us
        """A fixed value for K; None if K is learned."""
        self.longest_us = longest_us
        """The longest delay that K is learned from."""
        self.cut = 0.0
        """The part of K that is not waited for."""
        self._pid = PID(1 - target_drop_ratio, proportional=6.0, integral=0.6, derivative=0.2)
        self._pid_state = PIDState()
        self._sampled_us = 0
        self._before = (0, 0)
        self._state = np.zeros(1, dtype=STATE)
        self._state["oldest_us"] = LATEST_US
        self._state["slack_us"] = fixed_us or 0
        self._state["punctuated_us"] = -LATEST_US

    @property
    def slack_us(self) -> int:
        """K: the longest delay seen."""
        return int(self._state["slack_us"][0])

    @property
    def newest_us(self) -> int:
        """The newest time stamp."""
        return int(self._state["newest_us"][0])

    @property
    def dropped(self) -> int:
        """Tuples dropped so far."""
        return int(self._state["dropped"][0])

    @property
    def offered(self) -> int:
        """Tuples seen so far."""
        return int(self._state["offered"][0])

    def offer(self, event_us: IntArray, arrival_us: IntArray) -> Admission:
        """Judge the next tuples, in order of arrival."""
        late = np.zeros(event_us.size, dtype=np.bool_)
        punctuation = np.full(event_us.size, NOTHING, dtype=np.int64)
        start = 0
        while start < event_us.size:
            end = event_us.size
            if self.target_drop_ratio > 0:
                if arrival_us[start] - self._sampled_us >= SAMPLE_US:
                    self._sample(int(arrival_us[start]))
                end = int(np.searchsorted(arrival_us, self._sampled_us + SAMPLE_US))
            part = slice(start, end)
            _offer(
                self._state,
                event_us[part],
                arrival_us[part],
                self.pane_us,
                self.least_gap_us,
                1 - self.cut,
                LATEST_US if self.fixed_us is None else self.fixed_us,
                self.longest_us,
                late[part],
                punctuation[part],
            )
            start = end
        return Admission(late, punctuation)

    def _sample(self, now_us: int) -> None:
        """Adapt the cut to the target drop ratio."""
        offered, dropped = self.offered - self._before[0], self.dropped - self._before[1]
        if offered > 0:
            change, self._pid_state = self._pid.step(self._pid_state, 1 - dropped / offered)
            self.cut = min(max(self.cut + change, 0.0), 1.0)
        self._before = (self.offered, self.dropped)
        self._sampled_us = now_us - (now_us - self._sampled_us) % SAMPLE_US

    def as_json(self) -> dict[str, Any]:
        """Return the state as plain values, for ``from_json``."""
        return {
            "pane_us": self.pane_us,
            "target_drop_ratio": self.target_drop_ratio,
            "least_gap_us": self.least_gap_us,
            "fixed_us": self.fixed_us,
            "longest_us": self.longest_us,
            "cut": self.cut,
            "pid": asdict(self._pid_state),
            "sampled_us": self._sampled_us,
            "before": list(self._before),
            "state": [int(value) for value in self._state[0]],
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> KSlack:
        """Restore the state of ``as_json``."""
        slack = cls(
            document["pane_us"],
            document["target_drop_ratio"],
            document["least_gap_us"],
            fixed_us=document["fixed_us"],
            longest_us=document.get("longest_us", DAY_US),
        )
        slack.cut, slack._sampled_us = document["cut"], document["sampled_us"]
        slack._pid_state = PIDState(**document["pid"])
        slack._before = (document["before"][0], document["before"][1])
        slack._state[0] = tuple(document["state"])
        return slack


@njit(cache=True)
def _offer(
    state, event_us, arrival_us, pane_us, gap_us, waited, most_us, longest_us, late, punctuation
):  # pragma: no cover - compiled
    at = state[0]
    for i in range(event_us.size):
        stamp = event_us[i]
        at.offered += 1
        if at.newest_us - stamp <= longest_us:
            at.oldest_us = min(at.oldest_us, stamp)
        if stamp > at.newest_us:
            at.newest_us = stamp
            at.slack_us = min(max(at.slack_us, stamp - at.oldest_us), most_us)
            at.oldest_us = LATEST_US
            bound_us = stamp - int(waited * at.slack_us)
            if arrival_us[i] - at.punctuated_us >= gap_us:
                at.punctuated_us = arrival_us[i]
                punctuation[i] = max(0, bound_us // pane_us)
            at.bound_us = max(at.bound_us, bound_us)
        if stamp < at.bound_us:
            late[i] = True
            at.dropped += 1
