"""What all managers have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mead.cpu import DryRunShares, ShareManager
from mead.cpu.cgroup import CgroupV1Shares, CgroupV2Shares

OPERATORS = ["parser", "../matcher"]


@pytest.fixture(params=["v1", "v2", "dry run"])
def manager(request: pytest.FixtureRequest) -> Iterator[ShareManager]:
    if request.param == "v1":
        cpu, accounts = (request.getfixturevalue(name) for name in ("v1_cpu", "v1_accounts"))
        with closing(CgroupV1Shares(cpu, accounts, OPERATORS)) as shares:
            yield shares
    elif request.param == "v2":
        yield CgroupV2Shares(request.getfixturevalue("v2_tree"), OPERATORS)
    else:
        yield DryRunShares(OPERATORS)


def test_an_operator_that_is_not_there_is_named_with_those_that_are(manager: ShareManager) -> None:
    for call in (manager.usage, manager.group, manager.processes, lambda name: manager.set_share(name, 0.5)):
        with pytest.raises(ValueError, match=r"no operator 'counter'; there are parser, \.\./matcher"):
            call("counter")


@pytest.mark.parametrize("share", [0.0, -1.0, float("nan"), float("inf")])
def test_a_share_that_cannot_be_given_is_refused(manager: ShareManager, share: float) -> None:
    with pytest.raises(ValueError, match="a share must be"):
        manager.set_share("parser", share)


def test_a_group_is_one_word_that_fits_an_environment_variable(manager: ShareManager) -> None:
    for operator in OPERATORS:
        group = manager.group(operator)
        assert group.split() in ([], [group])
        assert ".." not in Path(group).parts


def test_nobody_has_joined_at_first(manager: ShareManager) -> None:
    assert manager.processes("parser") == ()
    used = manager.usage("parser")
    assert used is None or used.cpu_s == 0


def test_closing_twice_is_closing_once(manager: ShareManager) -> None:
    manager.set_share("parser", 0.5)
    manager.close()
    manager.close()


def test_a_dry_run_remembers() -> None:
    shares = DryRunShares(OPERATORS)
    shares.set_share("parser", 0.4)
    shares.set_share("parser", 0.7)
    assert shares.shares == {"parser": 0.7}
