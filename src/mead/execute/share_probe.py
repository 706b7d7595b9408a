"""Whether a share is kept: a process that only spins, held to one, and what it got."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass

from mead.execute.detect import Opener

SPIN = (
    "import sys; from mead.execute.join import join_group; join_group(sys.argv[1]); print(flush=True)\nwhile True: pass"
)

SHARE = 0.2
FREE_S = 0.2
HELD_S = 0.6
TOLERANCE = 1.3
"""The unused time of one period may be used in the next, and periods do not begin when the clock is read."""


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
    """Try it; takes less than two seconds."""
    with (
        closing(manager(["probe"])) as shares,
        subprocess.Popen(  # noqa: S603 - the program is the text above
            [sys.executable, "-c", SPIN, shares.group("probe")], stdout=subprocess.PIPE
        ) as child,
    ):

        def cores(seconds: float) -> float:
            before, began = shares.usage("probe"), time.perf_counter()
            time.sleep(seconds)
            after, passed_s = shares.usage("probe"), time.perf_counter() - began
            return after.since(before).cpu_s / passed_s if after and before else 0.0

        try:
            if child.stdout:
                child.stdout.readline()  # it has joined
            free = cores(FREE_S)
            shares.set_share("probe", share)
            cores(HELD_S / 4)  # what it saved up before the limit
            return ShareProbe(free, cores(HELD_S), share)
        finally:
            child.kill()
