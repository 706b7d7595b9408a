"""The soak finds a run that grows, and samples one that really runs."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from tests.paths import ROOT


@pytest.fixture
def soak(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("soak")


def samples(soak: Any, **per_hour: float) -> list[dict[str, float]]:
    """An hour of samples, in which some figures grow after a warm-up that does not count."""
    names = ("minutes", *soak.MOST_PER_H, "disk_mb")
    found = []
    for minute in range(60):
        later = max(minute - 20, 0) / 60
        found.append({name: 100.0 + per_hour.get(name, 0.0) * later + min(minute, 20) for name in names})
        found[-1]["minutes"] = float(minute)
    return found


def test_a_run_that_is_warm_and_stays_as_it_is_is_bounded(soak: Any) -> None:
    verdict = soak.judge(samples(soak, disk_mb=500.0))
    assert (verdict["bounded"], verdict["growing"]) == (True, [])
    assert verdict["growth"]["disk_mb"]["per_hour"] == pytest.approx(500.0)


@pytest.mark.parametrize("name", ["controller_mb", "java_live_mb", "java_descriptors", "processes", "files"])
def test_whatever_grows_is_named(soak: Any, name: str) -> None:
    verdict = soak.judge(samples(soak, **{name: 2 * soak.MOST_PER_H[name]}))
    assert (verdict["bounded"], verdict["growing"]) == (False, [name])


def test_without_a_jdk_the_whole_java_process_is_judged(soak: Any) -> None:
    grown = samples(soak, java_mb=2 * soak.MOST_PER_H["java_mb"])
    assert soak.judge(grown)["bounded"]
    for one in grown:
        del one["java_live_mb"]
    assert soak.judge(grown)["growing"] == ["java_mb"]


def test_a_few_samples_say_nothing(soak: Any) -> None:
    assert not soak.judge(samples(soak)[:5])["bounded"]


@pytest.mark.slow
@pytest.mark.spark
def test_a_real_run_is_sampled(soak: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Far too short for a verdict about growth: only that everything is seen, and the run ends well."""
    soak.main(0.2, tmp_path, every_s=2.0)
    answer = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert answer["verdict"]["exit_code"] == 0
    for name in ("controller_mb", "java_mb", "java_descriptors", "files", "history_mb"):
        assert max(one[name] for one in answer["samples"]) > 0, name
