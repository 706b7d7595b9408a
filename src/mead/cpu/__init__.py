"""CPU limits of processes by cgroups: detection, adoption, clean-up.

Names are loaded on first use: worker daemons import `mead.cpu.join` before anything else.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which takes time to load

if TYPE_CHECKING:
    from mead.cpu.adoption import Adoption as Adoption
    from mead.cpu.adoption import find_other_group as find_other_group
    from mead.cpu.detection import Detection as Detection
    from mead.cpu.detection import Opener as Opener
    from mead.cpu.detection import detect as detect
    from mead.cpu.join import join_group as join_group
    from mead.cpu.processes import PROCESSES as PROCESSES
    from mead.cpu.processes import TICKS_PER_S as TICKS_PER_S
    from mead.cpu.processes import Process as Process
    from mead.cpu.processes import count_cpus as count_cpus
    from mead.cpu.processes import give_way as give_way
    from mead.cpu.processes import list_processes as list_processes
    from mead.cpu.processes import read_process as read_process
    from mead.cpu.share_probe import Preparation as Preparation
    from mead.cpu.share_probe import measure_actuation_delay_s as measure_actuation_delay_s
    from mead.cpu.share_probe import prepare as prepare
    from mead.cpu.share_probe import probe_share as probe_share
    from mead.cpu.shares import CpuUsage as CpuUsage
    from mead.cpu.shares import DryRunShares as DryRunShares
    from mead.cpu.shares import ShareManager as ShareManager
    from mead.cpu.shares import closing_shares as closing_shares
else:

    def __getattr__(name: str) -> object:
        """Import an exported name on first use."""
        from mead.exports import load_export  # noqa: PLC0415 - only now, so that the room itself loads nothing

        return load_export(__name__, name)
