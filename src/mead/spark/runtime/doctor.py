"""Check whether this machine is ready for the live engine."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from mead.cpu import PROCESSES, count_cpus, detect, probe_share
from mead.cpu.share_probe import SHARE
from mead.spark.runtime.java import NEEDED_VERSION, find_java
from mead.spark.runtime.trial import TrialError, try_spark

NEEDED_PYTHON = (3, 11)
NEEDED_MEMORY_GB = 2.0
"""A driver of 1 GB, and the Python workers of three operators."""

NEEDED_DISK_GB = 1.0
"""Streams between operators are kept until they have been read, and checkpoints with them."""

GOOD_CORES = 2
GB = 1e9

BROKER_PORT = 5672
BROKER_ANSWER_S = 1.0
GREETING = b"AMQP\x00\x00\x09\x01"
"""The first bytes of an AMQP 0.9.1 client."""


@dataclass(frozen=True)
class Check:
    """One check and its result."""

    name: str
    status: Literal["ok", "missing", "optional"]
    """Present; needed but missing; or missing and needed only by some."""
    found: str
    remedy: str = ""
    """A command or an instruction."""


def run_checks(
    environment: Mapping[str, str] = os.environ, folder: Path = Path(), system: Path = PROCESSES
) -> Iterator[Check]:
    """Yield each check as soon as its result is known. Streams would be kept in ``folder``.

    ``system`` is the folder in which Linux describes itself. Other systems, such as macOS, have none.
    """
    yield python_check()
    java = java_check(environment)
    yield java
    yield spark_check(environment, java)
    yield shares_check(system / "self" / "mountinfo")
    yield cores_check()
    yield memory_check(system / "meminfo")
    yield disk_check(folder)
    yield broker_check()


def python_check(version: tuple[int, ...] = sys.version_info[:3]) -> Check:
    """Check the interpreter that runs this code and will run the workers."""
    found = f"{'.'.join(map(str, version))} ({sys.executable})"
    if version >= NEEDED_PYTHON:
        return Check("Python", "ok", found)
    return Check("Python", "missing", found, _install("python3.11 python3.11-venv", "python3.11", "python@3.11"))


def java_check(environment: Mapping[str, str]) -> Check:
    """Check the Java that Spark would use."""
    java = find_java(environment)
    install = _install(
        f"openjdk-{NEEDED_VERSION}-jre-headless",
        f"java-{NEEDED_VERSION}-openjdk-headless",
        f"openjdk@{NEEDED_VERSION}",
    )
    if java is None:
        return Check("Java", "missing", "no java on the path, and JAVA_HOME is not set", install)
    if java.new_enough:
        return Check("Java", "ok", f"version {java.version} ({java.path})")
    home = f"unset JAVA_HOME (it is {environment['JAVA_HOME']}), and " if environment.get("JAVA_HOME") else ""
    found = f"{java.path} does not run" if java.version is None else f"version {java.version} ({java.path})"
    return Check("Java", "missing", f"{found}; Spark needs {NEEDED_VERSION} or newer", home + install)


def spark_check(environment: Mapping[str, str], java: Check) -> Check:
    """Run a small Spark job, all the way to a Python worker and back."""
    if find_spec("pyspark") is None:
        return Check(
            "Spark", "missing", "pyspark is not installed", f"{sys.executable} -m pip install 'pyspark>=4.3,<4.4'"
        )
    if java.status != "ok":
        return Check("Spark", "missing", "pyspark is installed; not tried without Java", java.remedy)
    try:
        trial = try_spark(environment)
    except TrialError as error:
        return Check(
            "Spark", "missing", f"a small job failed: {error}", f"{sys.executable} -m mead.spark.runtime.trial"
        )
    return Check(
        "Spark", "ok", f"version {trial.version}: started in {trial.start_s:.1f} s, job in {trial.job_s:.1f} s"
    )


def shares_check(mountinfo: Path) -> Check:
    """Check that control groups limit a process to its share. Without them MEAD only advises."""
    found = detect(mountinfo)
    if found.kind == "none":
        return Check("CPU shares", "optional", f"{found.reason}: shares can be advised, not set", found.remedy)
    probe = probe_share(found.open)
    told = (
        f"{found.reason}: a spinning process got {probe.limited:.2f} cores of {SHARE}, {probe.free:.2f} without a limit"
    )
    if probe.enforced:
        return Check("CPU shares", "ok", told)
    return Check("CPU shares", "optional", told, "use a kernel built with CONFIG_CFS_BANDWIDTH")


def cores_check() -> Check:
    """Check the number of cores that this process may use."""
    cores = count_cpus()
    if cores >= GOOD_CORES:
        return Check("cores", "ok", f"{cores} ({platform.machine()})")
    return Check(
        "cores", "optional", f"{cores}: operators and Spark share it", f"use a machine with {GOOD_CORES} or more"
    )


def memory_check(meminfo: Path) -> Check:
    """Check the free memory, or all memory where the system does not tell."""
    if not meminfo.exists():
        return _whole_memory_check()
    lines = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
    free_gb, all_gb = (int(lines[name].split()[0]) * 1024 / GB for name in ("MemAvailable", "MemTotal"))
    found = f"{free_gb:.1f} GB free of {all_gb:.1f} GB"
    if free_gb >= NEEDED_MEMORY_GB:
        return Check("memory", "ok", found)
    return Check("memory", "missing", found, f"end other programs: {NEEDED_MEMORY_GB:.0f} GB are needed")


def _whole_memory_check() -> Check:
    all_gb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GB
    found = f"{all_gb:.1f} GB; the free part is unknown"
    if all_gb >= NEEDED_MEMORY_GB:
        return Check("memory", "ok", found)
    return Check("memory", "missing", found, f"use a machine with {NEEDED_MEMORY_GB:.0f} GB or more")


def disk_check(folder: Path) -> Check:
    """Check the space for streams between operators and for checkpoints."""
    place = folder.resolve()
    free_gb = shutil.disk_usage(place).free / GB
    if free_gb >= NEEDED_DISK_GB:
        return Check("disk", "ok", f"{free_gb:.1f} GB free in {place}")
    remedy = f"remove files, or use another folder: {NEEDED_DISK_GB:.0f} GB are needed"
    return Check("disk", "missing", f"{free_gb:.1f} GB free in {place}", remedy)


def broker_check(host: str = "localhost", port: int = BROKER_PORT) -> Check:
    """Check whether a broker there speaks AMQP."""
    try:
        with socket.create_connection((host, port), timeout=BROKER_ANSWER_S) as connection:
            connection.sendall(GREETING)
            answer = connection.recv(1)
    except OSError as error:
        answer, why = b"", error.strerror or "no answer"
    else:
        why = "something else answers"
    if answer == b"\x01":  # the server's first method
        return Check("RabbitMQ", "ok", f"answers at {host}:{port}")
    installed = _install("rabbitmq-server", "rabbitmq-server", "rabbitmq")
    remedy = f"{installed} && {'' if _has_brew() else _as_root()}rabbitmq-server -detached"
    return Check("RabbitMQ", "optional", f"not at {host}:{port} ({why}); only streams through RabbitMQ need it", remedy)


def _install(debian: str, fedora: str, macos: str) -> str:
    """Return the command of this machine's package manager."""
    if _has_brew():
        return f"brew install {macos}"
    if shutil.which("apt-get") is None and shutil.which("dnf") is not None:
        return f"{_as_root()}dnf install -y {fedora}"
    return f"{_as_root()}apt-get install -y {debian}"


def _has_brew() -> bool:
    return shutil.which("apt-get") is None and shutil.which("brew") is not None


def _as_root() -> str:
    return "" if os.geteuid() == 0 else "sudo "
