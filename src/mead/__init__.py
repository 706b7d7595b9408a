"""MEAD for Spark: auto-scaling of streaming pipelines that knows how bursty the arrivals are."""

from __future__ import annotations

__version__ = "0.1.0.dev0"

TYPE_CHECKING = False  # as in typing, which is not loaded: worker daemons import this package before anything else

if TYPE_CHECKING:
    from mead.preference.spark.handle import PreferenceQuery as PreferenceQuery
    from mead.preference.spark.query import preference_query as preference_query
    from mead.spark.attach.attach import Attached as Attached
    from mead.spark.attach.attach import AttachError as AttachError
    from mead.spark.attach.attach import attach as attach
    from mead.spark.attach.attach import stamped as stamped
else:
    EXPORTED = {
        **dict.fromkeys(("Attached", "AttachError", "attach", "stamped"), "mead.spark.attach.attach"),
        "PreferenceQuery": "mead.preference.spark.handle",
        "preference_query": "mead.preference.spark.query",
    }

    def __getattr__(name: str) -> object:
        """What users of a query of their own need, loaded when it is asked for."""
        if name not in EXPORTED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - see above

        return getattr(import_module(EXPORTED[name]), name)
