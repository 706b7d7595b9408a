"""MEAD for Spark: keep PySpark streaming queries within a latency bound, at the lowest CPU cost.

Names are loaded on first use: worker daemons import this package before anything else.
"""

from __future__ import annotations

__version__ = "0.1.0.dev0"

TYPE_CHECKING = False  # as in typing, which takes time to load

if TYPE_CHECKING:
    from mead.api import run as run
    from mead.api import simulate as simulate
    from mead.preference.spark.handle import PreferenceQuery as PreferenceQuery
    from mead.preference.spark.query import preference_query as preference_query
    from mead.spark.attach.attach import Attached as Attached
    from mead.spark.attach.attach import AttachError as AttachError
    from mead.spark.attach.attach import attach as attach
    from mead.spark.attach.attach import stamped as stamped
    from mead.values import Pipeline as Pipeline
    from mead.values import Requirement as Requirement
else:

    def __getattr__(name: str) -> object:
        """Import an exported name on first use."""
        from mead.exports import load_export  # noqa: PLC0415 - only now, so that the room itself loads nothing

        return load_export(__name__, name)
