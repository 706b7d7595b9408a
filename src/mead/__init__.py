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
    EXPORTED = {
        **dict.fromkeys(("run", "simulate"), "mead.api"),
        **dict.fromkeys(("Attached", "AttachError", "attach", "stamped"), "mead.spark.attach.attach"),
        "PreferenceQuery": "mead.preference.spark.handle",
        "preference_query": "mead.preference.spark.query",
        **dict.fromkeys(("Pipeline", "Requirement"), "mead.values"),
    }

    def __getattr__(name: str) -> object:
        """Import an exported name on first use."""
        if name not in EXPORTED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - see above

        return getattr(import_module(EXPORTED[name]), name)
