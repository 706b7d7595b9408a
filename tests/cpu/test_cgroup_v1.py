"""On the real machine. Shares are judged by CPU time out of the kernel's accounts, in generous bounds."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mead.cpu.cgroup import CgroupV1Shares
from mead.cpu.control_file import read_processes
from mead.cpu.limit import Limit

StartWorker = Callable[[str], "subprocess.Popen[str]"]


def values(shares: CgroupV1Shares, operator: str) -> tuple[int, ...]:
    folder = Path(shares.group(operator).split(":")[0])
    return tuple(int((folder / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period", "burst"))


def test_the_kernel_holds_what_was_set(v1_shares: CgroupV1Shares) -> None:
    assert values(v1_shares, "matcher") == (-1, 100_000, 0)
    for share, expected in {
        0.4: (8_000, 20_000, 4_000),
        0.01: (1_000, 100_000, 1_000),  # burst and quota shrink, the period grows
        0.0015: (1_000, 666_667, 1_000),
        3.5: (70_000, 20_000, 4_000),
        0.1: (2_000, 20_000, 2_000),
        1.0: (20_000, 20_000, 4_000),
    }.items():
        v1_shares.set_share("matcher", share)
        assert values(v1_shares, "matcher") == expected
    assert values(v1_shares, "parser") == (-1, 100_000, 0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.floats(0.001, 64.0), min_size=1, max_size=8))
def test_the_kernel_accepts_every_share_after_every_other(v1_shares: CgroupV1Shares, wanted: list[float]) -> None:
    for share in wanted:
        v1_shares.set_share("matcher", share)
        limit = Limit.of(share)
        assert values(v1_shares, "matcher") == (limit.quota_us, limit.period_us, limit.burst_us)


def test_a_change_of_share_is_one_write(v1_shares: CgroupV1Shares, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[tuple[str, str]] = []
    v1_shares.set_share("matcher", 0.4)
    monkeypatch.setattr("mead.cpu.cgroup.write", lambda file, value: written.append((file.name, value)))
    v1_shares.set_share("matcher", 0.4)
    assert written == []
    v1_shares.set_share("matcher", 0.7)
    assert written == [("cpu.cfs_quota_us", "14000")]


def test_a_worker_is_held_to_its_share_and_another_operator_is_not(
    v1_shares: CgroupV1Shares, worker: StartWorker
) -> None:
    matcher, parser = worker(v1_shares.group("matcher")), worker(v1_shares.group("parser"))
    assert v1_shares.processes("matcher") == (matcher.pid,)
    assert v1_shares.processes("parser") == (parser.pid,)
    v1_shares.set_share("matcher", 0.2)
    before = {name: v1_shares.usage(name) for name in ("matcher", "parser")}
    started_s = time.monotonic()
    time.sleep(1.0)
    used = {name: v1_shares.usage(name).since(before[name]) for name in before}
    elapsed_s = time.monotonic() - started_s
    # Never more than the quota and what was saved. How much less depends on who else wants the CPUs.
    assert 0.02 < used["matcher"].cpu_s / elapsed_s < 0.27
    assert 0 < used["matcher"].throttled_periods <= used["matcher"].periods
    assert 0 < used["matcher"].throttled_s < elapsed_s
    assert used["parser"].cpu_s > used["matcher"].cpu_s
    assert (used["parser"].periods, used["parser"].throttled_periods, used["parser"].throttled_s) == (0, 0, 0.0)


def test_share_04_gives_04_of_a_core(v1_shares: CgroupV1Shares, worker: StartWorker) -> None:
    worker(v1_shares.group("matcher"))
    v1_shares.set_share("matcher", 0.4)
    shares_seen = []
    for _ in range(5):  # a machine that is busy with something else may give less for a while, never more
        before, started_s = v1_shares.usage("matcher"), time.monotonic()
        time.sleep(1.0)
        shares_seen.append(v1_shares.usage("matcher").since(before).cpu_s / (time.monotonic() - started_s))
        assert shares_seen[-1] < 0.5
        if shares_seen[-1] > 0.3:
            return
    pytest.fail(f"a share of 0.4 gave {shares_seen}")


def test_accounts_keep_the_time_of_workers_that_have_ended(v1_shares: CgroupV1Shares, worker: StartWorker) -> None:
    process = worker(v1_shares.group("matcher"))
    time.sleep(0.2)
    process.kill()
    process.wait()
    used = v1_shares.usage("matcher")
    assert used.cpu_s > 0
    assert v1_shares.usage("matcher").cpu_s >= used.cpu_s
    assert v1_shares.processes("matcher") == ()


def test_what_a_worker_forks_is_born_in_the_group(v1_shares: CgroupV1Shares) -> None:
    code = """
import os, sys, time
from mead.cpu import join_group
join_group(sys.argv[1])
child = os.fork()
if child == 0:
    sys.stdin.read()
    os._exit(0)
print(child, flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", code, v1_shares.group("parser")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        assert set(v1_shares.processes("parser")) == {process.pid, child}


def test_the_application_competes_with_the_weight_of_its_operators(v1_shares: CgroupV1Shares) -> None:
    application = Path(v1_shares.group("parser").split(":")[0]).parent
    assert (application / "cpu.shares").read_text().strip() == "2048"


def test_a_kernel_without_burst_does_without(v1_shares: CgroupV1Shares) -> None:
    v1_shares.burst_file = "cpu.no_such_burst_us"
    v1_shares.set_share("matcher", 0.4)
    assert values(v1_shares, "matcher") == (8_000, 20_000, 0)


def test_closing_frees_both_hierarchies_and_ends_no_process(
    v1_cpu: Path, v1_accounts: Path, worker: StartWorker
) -> None:
    shares = CgroupV1Shares(v1_cpu, v1_accounts, ["matcher"])
    process = worker(shares.group("matcher"))
    shares.set_share("matcher", 0.1)
    shares.close()
    assert process.poll() is None
    for base in (v1_cpu, v1_accounts):
        assert [entry for entry in base.iterdir() if entry.is_dir()] == []
        assert read_processes(base) == (process.pid,)
    shares.close()


def test_the_next_start_removes_what_a_killed_application_has_left_in_both_hierarchies(
    v1_cpu: Path, v1_accounts: Path, worker: StartWorker
) -> None:
    code = """
import sys, time
from pathlib import Path
from mead.cpu.cgroup import CgroupV1Shares
shares = CgroupV1Shares(Path(sys.argv[1]), Path(sys.argv[2]), ["matcher"])
shares.set_share("matcher", 0.2)
print(shares.group("matcher"), flush=True)
time.sleep(60)
"""
    command = [sys.executable, "-c", code, str(v1_cpu), str(v1_accounts)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as application:
        assert application.stdout is not None
        group = application.stdout.readline().strip()
        survivor = worker(group)
        application.kill()
    CgroupV1Shares(v1_cpu, v1_accounts, ["parser"]).close()
    assert survivor.poll() is None
    assert all(Path(folder).exists() for folder in group.split(":"))  # until its last process has ended
    survivor.kill()
    survivor.wait()
    CgroupV1Shares(v1_cpu, v1_accounts, ["parser"]).close()
    assert not any(Path(folder).parent.exists() for folder in group.split(":"))


def test_where_accounts_cannot_be_kept_no_limit_is_left(v1_cpu: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        CgroupV1Shares(v1_cpu, tmp_path / "missing", ["matcher"])
    assert [entry for entry in v1_cpu.iterdir() if entry.is_dir()] == []


def test_a_group_that_was_removed_is_named(v1_shares: CgroupV1Shares) -> None:
    Path(v1_shares.group("matcher").split(":")[0]).rmdir()
    with pytest.raises(FileNotFoundError, match=r"op-matcher/cpu\.cfs_period_us"):
        v1_shares.set_share("matcher", 0.4)
