"""Threads that give way; the system is asked what became of it."""

from __future__ import annotations

import os
import sys
from threading import Thread, get_native_id

import pytest

from mead.cpu import give_way
from mead.cpu.processes import NICE


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities of their own on Linux alone")
def test_only_the_thread_that_asks_gives_way() -> None:
    seen: list[int] = []

    def niceness() -> int:
        return os.getpriority(os.PRIO_PROCESS, get_native_id())

    def controller() -> None:
        give_way()
        seen.append(niceness())

    before = niceness()
    thread = Thread(target=controller)
    thread.start()
    thread.join()
    assert seen == [max(NICE, before)]
    assert niceness() == before


def test_a_system_that_refuses_is_no_reason_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "setpriority", refuse)
    give_way()
