from __future__ import annotations

import pytest

from mead.execute.detect import detect
from mead.execute.dry_run import DryRunShares
from mead.execute.share_probe import ShareProbe, probe_share


def test_a_spinning_process_is_held_to_its_share() -> None:
    found = detect()
    if found.kind == "none":
        pytest.skip(f"no shares can be set here: {found}")
    probe = probe_share(found.open, share=0.1)
    assert probe.kept
    assert 0 < probe.held < probe.free


def test_what_limits_nothing_is_seen_to_limit_nothing() -> None:
    assert not ShareProbe(free=0.98, held=0.97, share=0.2).kept


def test_a_manager_that_measures_nothing_is_no_error() -> None:
    assert probe_share(DryRunShares).held == 0
