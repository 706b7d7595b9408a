"""On a directory that looks like cgroup v2: what is written where, and what is made of what is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from mead.cpu import CpuUsage, join_group
from mead.cpu.cgroup import CgroupV2Shares


@pytest.fixture
def shares(v2_tree: Path) -> CgroupV2Shares:
    return CgroupV2Shares(v2_tree, ["parser", "matcher"])


def content(shares: CgroupV2Shares, file: str, operator: str = "matcher") -> str:
    return (Path(shares.group(operator)) / file).read_text()


def test_the_cpu_controller_is_passed_down_to_the_operators(shares: CgroupV2Shares, v2_tree: Path) -> None:
    application = Path(shares.group("matcher")).parent
    assert application.parent == v2_tree
    assert (v2_tree / "cgroup.subtree_control").read_text() == "+cpu"
    assert (application / "cgroup.subtree_control").read_text() == "+cpu"
    assert content(shares, "cgroup.subtree_control") == ""  # processes live there, so nothing may be passed down


def test_a_controller_that_is_passed_down_already_is_left_as_it_is(v2_tree: Path) -> None:
    (v2_tree / "cgroup.subtree_control").write_text("cpuset cpu memory\n")
    CgroupV2Shares(v2_tree, ["parser"])
    assert (v2_tree / "cgroup.subtree_control").read_text() == "cpuset cpu memory\n"


def test_a_share_is_quota_and_period_in_one_file(shares: CgroupV2Shares) -> None:
    for share, maximum, burst in [
        (0.4, "8000 20000", "4000"),
        (0.01, "1000 100000", "1000"),
        (2.5, "50000 20000", "4000"),
    ]:
        shares.set_share("matcher", share)
        assert (content(shares, "cpu.max"), content(shares, "cpu.max.burst")) == (maximum, burst)
    assert content(shares, "cpu.max", "parser") == "max 100000\n"


def test_a_change_of_share_is_one_write(shares: CgroupV2Shares, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[tuple[str, str]] = []
    shares.set_share("matcher", 0.4)
    monkeypatch.setattr("mead.cpu.cgroup.write", lambda file, value: written.append((file.name, value)))
    shares.set_share("matcher", 0.4)
    shares.set_share("matcher", 0.7)
    assert written == [("cpu.max", "14000 20000")]


def test_burst_never_exceeds_the_quota_in_force(shares: CgroupV2Shares, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel refuses it, at every moment between two writes."""
    in_force = {"cpu.max": 10**9, "cpu.max.burst": 0}

    def write(file: Path, value: str) -> None:
        in_force[file.name] = int(value.split(maxsplit=1)[0])
        assert in_force["cpu.max.burst"] <= in_force["cpu.max"]

    monkeypatch.setattr("mead.cpu.cgroup.write", write)
    for share in (0.4, 0.1, 1.0, 0.05, 0.06, 0.01, 0.3):
        shares.set_share("matcher", share)


def test_a_kernel_without_burst_does_without(shares: CgroupV2Shares) -> None:
    (Path(shares.group("matcher")) / "cpu.max.burst").unlink()
    shares.set_share("matcher", 0.4)
    assert content(shares, "cpu.max") == "8000 20000"
    assert not (Path(shares.group("matcher")) / "cpu.max.burst").exists()


def test_accounts_are_read_in_seconds(shares: CgroupV2Shares) -> None:
    (Path(shares.group("matcher")) / "cpu.stat").write_text(
        "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\ncore_sched.force_idle_usec 0\n"
        "nr_periods 120\nnr_throttled 30\nthrottled_usec 750000\nnr_bursts 3\nburst_usec 9000\n"
    )
    assert shares.usage("matcher") == CpuUsage(cpu_s=2.5, periods=120, throttled_periods=30, throttled_s=0.75)


def test_members_are_listed(shares: CgroupV2Shares) -> None:
    join_group(shares.group("matcher"), 4711)
    assert (shares.processes("matcher"), shares.processes("parser")) == ((4711,), ())


def test_the_application_competes_with_the_weight_of_its_operators(v2_tree: Path) -> None:
    few, many = CgroupV2Shares(v2_tree, ["parser", "matcher"]), CgroupV2Shares(v2_tree, [f"o{i}" for i in range(101)])
    assert (Path(few.group("parser")).parent / "cpu.weight").read_text() == "200"
    assert (Path(many.group("o0")).parent / "cpu.weight").read_text() == "10000"  # the kernel's highest


def test_closing_removes_the_groups(shares: CgroupV2Shares, v2_tree: Path) -> None:
    shares.close()
    assert [entry for entry in v2_tree.iterdir() if entry.is_dir()] == []
