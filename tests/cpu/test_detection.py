from __future__ import annotations

import errno
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from mead.cpu import Detection, DryRunShares, detect
from mead.cpu.cgroup import CgroupV1Shares, CgroupV2Shares

V1 = "32 31 0:29 / {path} {options},relatime - cgroup cgroup rw,{controllers}"
V2 = "41 31 0:38 / {path} {options},relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate"
ROOT = "23 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw"


def mountinfo(tmp_path: Path, *lines: str) -> Path:
    file = tmp_path / "mountinfo"
    file.write_text("\n".join([ROOT, *lines]) + "\n")
    return file


def v2_line(path: Path, options: str = "rw") -> str:
    return V2.format(path=path, options=options)


def assert_advise_only(found: Detection, reason: str, remedy: str) -> None:
    assert found.kind == "none"
    assert reason in found.reason
    assert remedy in found.remedy
    assert len(str(found).splitlines()) == 1
    assert isinstance(found.open(["parser"]), DryRunShares)


def test_v1_is_found_where_the_kernel_lets_us(v1_cpu: Path, v1_accounts: Path, tmp_path: Path) -> None:
    lines = [
        V1.format(path=path, options="rw", controllers=controller)
        for path, controller in ((v1_cpu, "cpu"), (v1_accounts, "cpuacct"))
    ]
    found = detect(mountinfo(tmp_path, *lines))
    assert (found.kind, found.reason) == ("v1", f"cgroup v1 in {v1_cpu} and {v1_accounts}")
    assert [entry for entry in v1_cpu.iterdir() if entry.is_dir()] == []  # the attempt leaves nothing
    with closing(found.open(["parser"])) as shares:
        assert isinstance(shares, CgroupV1Shares)
        assert shares.group("parser").startswith(str(v1_cpu))


def test_v2_is_found_by_its_controller(v2_tree: Path, tmp_path: Path) -> None:
    found = detect(mountinfo(tmp_path, v2_line(v2_tree)))
    assert (found.kind, found.reason, found.remedy) == ("v2", f"cgroup v2 in {v2_tree}", "")
    assert isinstance(found.open(["parser"]), CgroupV2Shares)


def test_v1_without_the_cpu_controller_does_not_hide_v2(v2_tree: Path, tmp_path: Path) -> None:
    memory = V1.format(path="/sys/fs/cgroup/memory", options="rw", controllers="memory")
    assert detect(mountinfo(tmp_path, memory, v2_line(v2_tree))).kind == "v2"


def test_mount_points_with_spaces_are_read(v2_tree: Path, tmp_path: Path) -> None:
    spaced = tmp_path / "c group"
    v2_tree.rename(spaced)
    found = detect(mountinfo(tmp_path, v2_line(Path(str(spaced).replace(" ", r"\040")))))
    assert str(spaced) in found.reason


def test_no_control_groups_at_all(tmp_path: Path) -> None:
    assert_advise_only(detect(mountinfo(tmp_path)), "no control groups are mounted", "run on Linux")
    assert_advise_only(detect(tmp_path / "missing"), "no control groups are mounted", "run on Linux")


def test_a_missing_controller_is_named(v2_tree: Path, tmp_path: Path) -> None:
    (v2_tree / "cgroup.controllers").write_text("hugetlb\n")
    found = detect(mountinfo(tmp_path, v2_line(v2_tree)))
    assert_advise_only(found, f"the cpu controller is missing in {v2_tree}", "Delegate=cpu")


def test_a_mount_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    found = detect(mountinfo(tmp_path, v2_line(tmp_path / "hidden")))
    assert_advise_only(found, "does not offer", "CONFIG_CFS_BANDWIDTH")


def test_a_read_only_mount_is_named(v2_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(os, "mkdir", refuse)
    assert_advise_only(detect(mountinfo(tmp_path, v2_line(v2_tree, "ro"))), f"{v2_tree} is read-only", "writable")


def test_missing_accounts_are_named(tmp_path: Path) -> None:
    line = V1.format(path="/sys/fs/cgroup/cpu", options="rw", controllers="cpu")
    assert_advise_only(detect(mountinfo(tmp_path, line)), "cpuacct is not mounted", "mount -t cgroup -o cpuacct")


@pytest.mark.parametrize(
    ("code", "reason", "remedy"),
    [
        (errno.EROFS, "is read-only", "docker run --privileged"),
        (errno.EBUSY, "itself holds processes", "DelegateSubgroup="),
        (errno.ENOENT, "the kernel does not offer", "CONFIG_CFS_BANDWIDTH"),
        (errno.ENOSPC, "No space left", "docs/explanation/shares.md"),
    ],
)
def test_a_refusal_of_the_kernel_is_explained(
    code: int, reason: str, remedy: str, v2_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code), str(v2_tree))

    monkeypatch.setattr(os, "mkdir", refuse)
    assert_advise_only(detect(mountinfo(tmp_path, v2_line(v2_tree))), reason, remedy)


@pytest.mark.parametrize(("user", "reason"), [(1000, "not root: user 1000 may not write"), (0, "root may not write")])
def test_missing_permission_is_explained(
    user: int, reason: str, v2_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(os, "mkdir", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    remedy = "privileged" if user == 0 else "run as root"
    assert_advise_only(detect(mountinfo(tmp_path, v2_line(v2_tree))), reason, remedy)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become someone else")
def test_an_ordinary_user_is_told_to_become_root(v1_cpu: Path, v1_accounts: Path) -> None:
    """By the real kernel: the process gives up root first."""
    del v1_cpu, v1_accounts  # there are real groups to be refused
    code = "import os; from mead.cpu.detection import detect; os.setuid(65534); print(detect())"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.startswith("not root: user 65534 may not write ")
    assert printed.endswith("; run as root (sudo)\n")
