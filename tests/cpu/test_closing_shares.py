"""Groups that cannot be removed when a run is over: on real control groups, and on a directory that looks like them."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from mead.cpu import closing_shares
from mead.cpu.cgroup import CgroupV1Shares, CgroupV2Shares


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lives on here does so until the test ends."""
    monkeypatch.setattr("mead.cpu.application_group._ATTEMPTS", 2)


def test_a_group_of_version_2_in_which_a_process_lives_on_costs_no_result(v2_tree: Path) -> None:
    """The kernel lets nobody into a group that passes controllers down, so that its processes cannot be moved there."""
    warnings: list[str] = []
    with closing_shares(CgroupV2Shares(v2_tree, ["matcher"]), warnings.append) as shares:
        group = Path(shares.group("matcher"))
        shares.set_share("matcher", 0.4)
        (group / "cgroup.procs").write_text("4711\n")
        (v2_tree / "cgroup.procs").unlink()
        result = "what was measured"
    assert result == "what was measured"
    assert (group / "cpu.max").read_text() == "max", "it limits nobody"
    (warning,) = warnings
    assert warning.startswith(f"cannot remove {group.parent} (")
    assert "\n" not in warning


def test_what_is_left_of_version_1_limits_nobody(v1_cpu: Path, v1_accounts: Path) -> None:
    warnings: list[str] = []
    with closing_shares(CgroupV1Shares(v1_cpu, v1_accounts, ["parser", "matcher"]), warnings.append) as shares:
        parser, matcher = (Path(shares.group(name).split(":")[0]) for name in ("parser", "matcher"))
        shares.set_share("parser", 0.2)
        shares.set_share("matcher", 0.4)
        stranger = matcher / "stranger"
        stranger.mkdir()
    assert not parser.exists(), "the others are removed all the same"
    assert (matcher / "cpu.cfs_quota_us").read_text().strip() == "-1"
    assert len(warnings) == 1
    stranger.rmdir()
    shares.close()
    assert not matcher.exists()


def test_an_error_of_what_was_done_is_told_and_not_that_of_the_group(
    v2_tree: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shares = CgroupV2Shares(v2_tree, ["matcher"])
    (Path(shares.group("matcher")) / "stranger").mkdir()
    with pytest.raises(RuntimeError, match="no patterns"), closing_shares(shares):
        raise RuntimeError("no patterns")
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_without_trouble_nothing_is_said_and_nothing_left(v2_tree: Path) -> None:
    warnings: list[str] = []
    with closing_shares(CgroupV2Shares(v2_tree, ["matcher"]), warnings.append) as shares:
        shares.set_share("matcher", 0.4)
    assert warnings == []
    assert [entry for entry in v2_tree.iterdir() if entry.is_dir()] == []
