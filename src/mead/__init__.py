"""MEAD for Spark: auto-scaling of streaming pipelines that knows how bursty the arrivals are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mead.attached import Attached as Attached
    from mead.attached import AttachError as AttachError
    from mead.attached import attach as attach
    from mead.attached import stamped as stamped

__version__ = "0.1.0.dev0"

_OF_ATTACHED = ("Attached", "AttachError", "attach", "stamped")


def __getattr__(name: str) -> Any:
    """For users of a query of their own. Loaded when asked for: workers and commands import this package too."""
    if name not in _OF_ATTACHED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mead import attached  # noqa: PLC0415 - see above

    return getattr(attached, name)
