"""Which parts of the fast micro-batch profile ``mead run`` starts Spark with."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cli.program import complaint

from mead.cli.runs.spark_run import ProfilePart, profile_without
from mead.policies.baselines.static import StaticOptions
from mead.session import Session
from mead.spark.pipeline import file_run
from mead.spark.runtime.fast_profile import FastProfile
from mead.values import Operator, Pipeline

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

    monkeypatch.setattr(file_run, "start_session", started)
    monkeypatch.setattr(file_run, "silence_loss", lambda _: None)
    options = StaticOptions()
    session = Session(Pipeline("test", [Operator("matcher", 0.001)]), options)
    profile = profile_without([ProfilePart.PLAIN_PLANNING])
    with file_run._spark(session, file_run.RunSettings(options, tmp_path, profile=profile), tmp_path):
        pass
    assert [off(profile) for profile in profiles] == [["plain_planning"]]
