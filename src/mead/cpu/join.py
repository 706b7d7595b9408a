"""Join a control group, importing nothing but ``os``."""

from __future__ import annotations

import os


def join_group(group: str, pid: int | None = None) -> None:
    """Move a process (this one by default) and all its threads. Its later children start in the group.

    ``group`` comes from `ShareManager.group`: folders separated as in PATH, since cgroup v1 may keep limits and
    accounts in two places. An empty one joins nothing.
    """
    for folder in filter(None, group.split(os.pathsep)):
        descriptor = os.open(os.path.join(folder, "cgroup.procs"), os.O_WRONLY)  # noqa: PTH118 - nothing but os
        try:
            os.write(descriptor, b"%d" % (pid or os.getpid()))
        finally:
            os.close(descriptor)
