"""Measure whether and how fast this machine enforces a share."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from statistics import median

from mead.cpu.detection import Detection, Opener, detect
from mead.cpu.limit import PERIOD_US, Limit
from mead.cpu.shares import ShareManager
from mead.values import Knowledge, Pipeline

SPIN = "import sys; from mead.cpu.join import join_group; join_group(sys.argv[1]); print(flush=True)\nwhile True: pass"

SHARE = 0.2
FREE_S = 0.2
LIMITED_S = 0.6
CHANGES = 5
LOOK_S = 0.005
PATIENCE_S = 1.0
TOLERANCE = 1.3
"""A group may use quota saved in earlier periods, and periods do not begin when we read the clock."""


@dataclass(frozen=True)
class Preparation:
    """Results of detection and measurement before a run."""

    detection: Detection
    acts: bool
    """Whether the run sets shares: acting is wanted and possible."""
    knowledge: Knowledge


def prepare(pipeline: Pipeline, *, act: bool, stated: Knowledge | None = None) -> Preparation:
    """Detect whether shares can be set; if so, and ``act`` is wanted, measure how soon a change acts.

    A run that cannot set shares can still advise. ``stated`` holds delays from the user: the longer of the stated and
    the measured delay is used.
    """
    detection = detect()
    acts = act and detection.kind != "none"
    # A run that sets no shares cannot measure: assume one period, as a quota counts from the next period on.
    shares_s = measure_actuation_delay_s(detection.open) if acts else PERIOD_US / 1e6
    if stated is None:
        return Preparation(detection, acts, Knowledge(pipeline, shares_s, share_delay_s=shares_s))
    shares_s = max(shares_s, stated.shares_after_s)
    delay_s = max(shares_s, stated.actuation_delay_s)
    return Preparation(detection, acts, Knowledge(pipeline, delay_s, share_delay_s=shares_s))


@dataclass(frozen=True)
class ShareProbe:
    """CPU cores that a spinning process got without and with a share."""

    free: float
    limited: float
    share: float

    @property
    def enforced(self) -> bool:
        """Whether it got no more than its share."""
        return self.limited <= TOLERANCE * self.share


def probe_share(manager: Opener, share: float = SHARE) -> ShareProbe:
    """Measure a spinning process without and with a share, in less than two seconds."""
    with closing(manager(["probe"])) as shares, _spin(shares):
        free = _measure_cores(shares, FREE_S)
        shares.set_share("probe", share)
        _measure_cores(shares, LIMITED_S / 4)  # let it use up quota saved before the limit
        return ShareProbe(free, _measure_cores(shares, LIMITED_S), share)


def measure_actuation_delay_s(manager: Opener, changes: int = CHANGES) -> float:
    """Return the time that a larger share takes to act: the median of a few changes.

    A share acts once the process got more CPU time than the old share could give. On a busy machine that takes longer:
    a share is a limit, not a promise.
    """
    delays_s = []
    with closing(manager(["probe"])) as shares, _spin(shares):
        for _ in range(changes):
            shares.set_share("probe", SHARE)
            _measure_cores(shares, LIMITED_S / 4)
            before, began_s = shares.usage("probe"), time.perf_counter()
            shares.set_share("probe", 1.0)
            passed_s, used_s = 0.0, 0.0
            while used_s <= max_cpu_s(SHARE, passed_s) and passed_s < PATIENCE_S:
                time.sleep(LOOK_S)
                after = shares.usage("probe")
                passed_s = time.perf_counter() - began_s  # after the reading, so that it is never too short
                used_s = after.since(before).cpu_s if after and before else 0.0
            delays_s.append(passed_s)
    return median(delays_s)


def max_cpu_s(share: float, seconds: float) -> float:
    """Return the most CPU time that a group can get in an interval of this length.

    On top of its share, it may begin with a whole unused quota and all saved quota. One quota more comes from the
    periods: the interval can overlap one more of them than fit into it.

    >>> round(max_cpu_s(0.2, 0.1), 6)
    0.032
    """
    limit = Limit.of(share)
    return share * seconds + (2 * limit.quota_us + limit.burst_us) / 1e6


@contextmanager
def _spin(shares: ShareManager) -> Iterator[None]:
    """Run a process that uses all CPU time it gets."""
    with subprocess.Popen(  # noqa: S603 - the program is the text above
        [sys.executable, "-c", SPIN, shares.group("probe")], stdout=subprocess.PIPE
    ) as child:
        try:
            if child.stdout:
                child.stdout.readline()  # it has joined
            yield
        finally:
            child.kill()


def _measure_cores(shares: ShareManager, seconds: float) -> float:
    before, began = shares.usage("probe"), time.perf_counter()
    time.sleep(seconds)
    after, passed_s = shares.usage("probe"), time.perf_counter() - began
    return after.since(before).cpu_s / passed_s if after and before else 0.0
