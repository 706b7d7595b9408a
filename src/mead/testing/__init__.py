"""The conformance suite: checks that every policy has to pass, for authors of policies."""

from __future__ import annotations

from mead.testing.conformance import CHECKS, NonconformityError, check_policy

__all__ = ["CHECKS", "NonconformityError", "check_policy"]
