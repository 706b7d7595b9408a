"""The log analysis of the MEAD paper, which ``mead demo`` runs.

``log_lines`` generates lines, ``parser`` splits them into fields, ``counter`` counts them by component and level, and
``matcher`` searches them for patterns; ``rejects`` returns the lines that the parser drops. A module with a function on
Arrow batches declares the columns of its result as ``OUTPUT_SCHEMA``; ``counter`` has a transformation of the stream.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which Python workers need not load

if TYPE_CHECKING:
    from pathlib import Path


def pipeline_path() -> Path:
    """The pipeline file of ``mead demo`` in the installed package."""
    from importlib.resources import files  # noqa: PLC0415 - Python workers import this package, and need no path
    from pathlib import Path  # noqa: PLC0415

    return Path(str(files(__name__) / "pipeline.yaml"))
