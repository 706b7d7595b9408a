"""Which parts of the fast micro-batch profile ``mead run`` starts Spark with."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cli.program import complaint

from mead.cli.runs import live
from mead.cli.runs.live import LiveOptions, ProfilePart, profile_without
from mead.loop import Mode
from mead.policies.baselines.static import StaticOptions
from mead.spark.runtime.fast_profile import FastProfile

PARTS = [field.name for field in fields(FastProfile)]


def off(profile: FastProfile) -> list[str]:
    return [part for part, on in asdict(profile).items() if not on]


def test_every_part_can_be_left_out_but_the_one_that_shares_need() -> None:
    left_out = [part for part in PARTS if part != "frozen_workers"]
    assert [*left_out, "all"] == [part.value for part in ProfilePart]
    assert [off(profile_without([part])) for part in ProfilePart] == [*([part] for part in left_out), left_out]
    assert off(profile_without([])) == []
    assert off(profile_without([ProfilePart.UNIX_SOCKETS, ProfilePart.QUIET_COMMITS])) == left_out[:2]


def test_a_part_that_is_not_there_is_named() -> None:
    assert "'frozen_workers' is not one of 'quiet_commits'" in complaint("run", "x.yaml", "--without", "frozen_workers")


def test_spark_is_started_with_what_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    profiles = list[FastProfile]()

    def started(_: str, *, profile: FastProfile, **__: object) -> SimpleNamespace:
        profiles.append(profile)
        return SimpleNamespace(stop=lambda: None)

    monkeypatch.setattr("mead.spark.runtime.spark_session.start_session", started)
    monkeypatch.setattr("mead.spark.runtime.quiet_start.silence_loss", lambda _: None)
    options = LiveOptions(StaticOptions(), Mode.ACT, None, tmp_path, quiet=True, left_out=(ProfilePart.PLAIN_PLANNING,))
    with live._spark("test", options, tmp_path):
        pass
    assert [off(profile) for profile in profiles] == [["plain_planning"]]
