"""Run the demo's pipeline for an hour, and see whether memory, descriptors and files stay bounded.

    benchmarks/soak.py [MINUTES] [--folder FOLDER] [--every SECONDS]

`mead run` works on local Spark as it would for a user. Every minute a line says how much memory the controller and
Java use, how many descriptors they have open, and how many files and bytes the folder of the run has. At the end a
JSON document has all samples and a verdict: the slope of each figure after the warm-up, with its standard error.

A Java process grows to the limit of its heap before it collects everything. So the judged figure is what is alive after
a collection, for which ``jcmd`` of a JDK is asked; with a Java that has no ``jcmd``, it is the whole process.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from mead.demo import pipeline_path

WARM_UP = 1 / 3
"""The part of the samples that does not count: code is compiled, caches and heaps fill."""

MOST_PER_H = {
    "controller_mb": 20.0,
    "java_mb": 60.0,
    "java_live_mb": 20.0,
    "workers_mb": 60.0,
    "controller_descriptors": 20.0,
    "java_descriptors": 20.0,
    "processes": 5.0,
    "files": 60.0,
}
"""Growth that may still be warm-up or new files of results. The rest is printed and not judged: results are kept."""

END_S = 120.0
"""How long a run may take to drain and end once its time is over."""

Sample = dict[str, float]


def main(minutes: float, folder: Path, every_s: float) -> int:
    """Run, sample and judge; returns 1 if something grows."""
    words = ["run", pipeline_path(), "--duration", f"{60 * minutes:g}", "--folder", folder / "run", "--json"]
    command = [str(Path(sys.executable).with_name("mead")), *map(str, words)]
    samples: list[Sample] = []
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)  # noqa: S603 - ours
        started, due = time.monotonic(), 1
        try:
            while process.poll() is None and time.monotonic() - started < 60 * minutes + END_S + 60:
                time.sleep(min(1.0, every_s))
                if time.monotonic() - started >= due * every_s:
                    due += 1
                    samples.append(sample(process.pid, folder / "run", time.monotonic() - started))
                    print(" ".join(f"{name}={value:g}" for name, value in samples[-1].items()), flush=True)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_S)
            process.kill()
    verdict = judge(samples)
    verdict["exit_code"] = process.wait()
    print(json.dumps({"samples": samples, "verdict": verdict}))
    return int(bool(verdict["exit_code"]) or not verdict["bounded"])


def sample(pid: int, folder: Path, time_s: float) -> Sample:
    """The controller, Java and its workers, and the folder, now."""
    family = list(_family(pid))
    java = [one for one in family if _name(one) == "java"]
    workers = [one for one in family if one != pid and one not in java]
    files = [path for path in folder.rglob("*") if path.is_file()]
    live = [live_mb for live_mb in map(_live_mb, java) if live_mb is not None]
    found = {"java_live_mb": sum(live)} if live else {}
    return found | {
        "minutes": round(time_s / 60, 2),
        "controller_mb": _memory_mb([pid]),
        "java_mb": _memory_mb(java),
        "workers_mb": _memory_mb(workers),
        "controller_descriptors": _descriptors([pid]),
        "java_descriptors": _descriptors(java),
        "processes": len(family),
        "files": len(files),
        "result_files": sum(path.suffix == ".parquet" for path in files),
        "disk_mb": round(sum(_size(path) for path in files) / 1e6, 2),
        "history_mb": round(sum(_size(path) for path in files if path.name.startswith("history.sqlite")) / 1e6, 2),
    }


def judge(samples: Sequence[Sample]) -> dict[str, Any]:
    """The growth of every figure per hour after the warm-up, and whether it is more than noise and a little."""
    steady = samples[int(len(samples) * WARM_UP) : -1]  # at the last one the run may be ending
    if len(steady) < 4:
        return {"bounded": False, "why": f"{len(samples)} samples are too few; run longer, or sample more often"}
    seen = set.intersection(*(set(one) for one in steady))
    growth = {name: slope([(one["minutes"] / 60, one[name]) for one in steady]) for name in steady[0] if name in seen}
    judged = {name: most for name, most in MOST_PER_H.items() if name in seen}
    if "java_live_mb" in judged:
        del judged["java_mb"]
    growing = [name for name, most in judged.items() if growth[name]["per_hour"] - 2 * growth[name]["error"] > most]
    return {"bounded": not growing, "growing": growing, "growth": growth}


def slope(points: Sequence[tuple[float, float]]) -> Mapping[str, float]:
    """Least squares.

    >>> slope([(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)])
    {'per_hour': 2.0, 'error': 0.0}
    """
    x, y = np.array(points).T
    x = x - x.mean()
    rise = float(x @ y / (x @ x))
    left = y - y.mean() - rise * x
    error = float(np.sqrt(left @ left / max(len(points) - 2, 1) / (x @ x)))
    return {"per_hour": round(rise, 3), "error": round(error, 3)}


def _family(pid: int) -> Iterator[int]:
    """A process and all that came from it."""
    yield pid
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _family(int(child))


def _name(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def _memory_mb(pids: Sequence[int]) -> float:
    total_kb = 0
    for pid in pids:
        with suppress(OSError, StopIteration):
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            total_kb += int(next(line for line in lines if line.startswith("VmRSS")).split()[1])
    return round(total_kb / 1024, 1)


def _live_mb(java: int) -> float | None:
    """Objects of a Java process that are still in use, after a collection that this asks for; None without a JDK."""
    jcmd = Path(f"/proc/{java}/exe").resolve().with_name("jcmd")
    if not jcmd.exists():
        return None
    asked = [str(jcmd), str(java), "GC.class_histogram"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603 - of the same Java
    total = [line for line in answer.stdout.splitlines() if line.startswith("Total")]
    return round(int(total[-1].split()[2]) / 2**20, 1) if total else None


def _descriptors(pids: Sequence[int]) -> int:
    total = 0
    for pid in pids:
        with suppress(OSError):
            total += sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return total


def _size(path: Path) -> int:
    with suppress(OSError):  # files come and go
        return path.stat().st_size
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minutes", type=float, nargs="?", default=60.0, help="how long the pipeline runs")
    parser.add_argument("--folder", type=Path, help="where the run and what it says stay; default a temporary one")
    parser.add_argument("--every", type=float, default=60.0, metavar="SECONDS", help="time between two samples")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = chosen.folder or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        sys.exit(main(chosen.minutes, place, chosen.every))
