"""Whether the machine enforces a share, tried with a process that only spins."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from statistics import median

from mead.cpu.detection import Opener
from mead.cpu.limit import Limit
from mead.cpu.shares import ShareManager

SPIN = "import sys; from mead.cpu.join import join_group; join_group(sys.argv[1]); print(flush=True)\nwhile True: pass"

SHARE = 0.2
FREE_S = 0.2
HELD_S = 0.6
CHANGES = 5
LOOK_S = 0.005
PATIENCE_S = 1.0
TOLERANCE = 1.3
"""A group may use time saved in earlier periods, and periods do not begin when we read the clock."""


@dataclass(frozen=True)
class ShareProbe:
    """CPU cores that a spinning process got, before it was held to a share and while it was."""

    free: float
    held: float
    share: float

    @property
    def kept(self) -> bool:
        """Whether it got no more than its share."""
        return self.held <= TOLERANCE * self.share


def probe_share(manager: Opener, share: float = SHARE) -> ShareProbe:
    """Measure a spinning process without and with a share; takes less than two seconds."""
    with closing(manager(["probe"])) as shares, _spinning(shares):
        free = _cores(shares, FREE_S)
        shares.set_share("probe", share)
        _cores(shares, HELD_S / 4)  # let it use up what it saved before the limit
        return ShareProbe(free, _cores(shares, HELD_S), share)


def actuation_delay_s(manager: Opener, changes: int = CHANGES) -> float:
    """How long a change of share takes to show, for a process that could use more: the median of a few changes.

    It shows when the process has got more than the old share could have given it. On a busy machine that takes longer:
    a share is a limit, not a promise.
    """
    delays_s = []
    with closing(manager(["probe"])) as shares, _spinning(shares):
        for _ in range(changes):
            shares.set_share("probe", SHARE)
            _cores(shares, HELD_S / 4)
            before, began_s = shares.usage("probe"), time.perf_counter()
            shares.set_share("probe", 1.0)
            passed_s, used_s = 0.0, 0.0
            while used_s <= most_cpu_s(SHARE, passed_s) and passed_s < PATIENCE_S:
                time.sleep(LOOK_S)
                after = shares.usage("probe")
                passed_s = time.perf_counter() - began_s  # after the reading, so that it never counts for too little
                used_s = after.since(before).cpu_s if after and before else 0.0
            delays_s.append(passed_s)
    return median(delays_s)


def most_cpu_s(share: float, seconds: float) -> float:
    """The most CPU time that a group can get in an interval of this length, wherever in a period it begins.

    On top of its share, it may begin with a whole unused quota and all that was saved. One quota more comes from the
    periods: the interval can overlap one more of them than fit into it.

    >>> round(most_cpu_s(0.2, 0.1), 6)
    0.032
    """
    limit = Limit.of(share)
    return share * seconds + (2 * limit.quota_us + limit.burst_us) / 1e6


@contextmanager
def _spinning(shares: ShareManager) -> Iterator[None]:
    """A process that uses all it gets."""
    with subprocess.Popen(  # noqa: S603 - the program is the text above
        [sys.executable, "-c", SPIN, shares.group("probe")], stdout=subprocess.PIPE
    ) as child:
        try:
            if child.stdout:
                child.stdout.readline()  # it has joined
            yield
        finally:
            child.kill()


def _cores(shares: ShareManager, seconds: float) -> float:
    before, began = shares.usage("probe"), time.perf_counter()
    time.sleep(seconds)
    after, passed_s = shares.usage("probe"), time.perf_counter() - began
    return after.since(before).cpu_s / passed_s if after and before else 0.0
