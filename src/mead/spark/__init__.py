"""The live engine: runs pipelines on Spark, and controls queries of users.

Names load when they are first used, because Spark's Python workers import single modules of this room.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which workers do not load

if TYPE_CHECKING:
    from mead.spark.runtime.fast_profile import FastProfile as FastProfile
    from mead.spark.runtime.spark_session import start_session as start_session
    from mead.spark.runtime.workers import operator_workers as operator_workers
    from mead.spark.trace_statistics import characterize as characterize
else:

    def __getattr__(name: str) -> object:
        """Import an exported name on first use."""
        from mead.exports import load_export  # noqa: PLC0415 - only now, so that the room itself loads nothing

        return load_export(__name__, name)
