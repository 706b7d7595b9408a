"""How often things are tried: some ten thousand times in all, and ``MEAD_FUZZ`` times as often where there is time."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

TIMES = int(os.environ.get("MEAD_FUZZ", "1"))


def tried(examples: int) -> settings:
    """So often. That one fixture serves all examples is what is wanted here, and so are large ones."""
    checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
    # With more time, other examples than the usual ones are the point; a failure prints how to see them again.
    phases = [phase for phase in Phase if phase is not Phase.shrink] if TIMES == 1 else list(Phase)
    return settings(
        max_examples=examples * TIMES,
        derandomize=TIMES == 1,
        print_blob=True,
        phases=phases,
        deadline=None,
        suppress_health_check=checks,
    )
