"""The time that a test waits before it fails."""

from __future__ import annotations

PATIENCE_S = 600.0
"""Far longer than any step takes on a busy machine: a test fails because nothing comes, never because it is late."""
