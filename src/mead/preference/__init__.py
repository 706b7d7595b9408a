"""Elastic-PPQ: skyline and top-delta queries over sliding windows.

Names are loaded on first use, so that Spark's workers load only what their tasks need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mead.preference.kernels.dominance import PreferenceError as PreferenceError
    from mead.preference.kernels.dominance import Preferences as Preferences
    from mead.preference.kernels.skyline import skyline as skyline
    from mead.preference.kernels.top_delta import TopDelta as TopDelta
    from mead.preference.kernels.top_delta import top_delta as top_delta
    from mead.preference.simulator.system import Outcome as Outcome
    from mead.preference.simulator.system import Setting as Setting
    from mead.preference.simulator.system import simulate as simulate
    from mead.preference.spark.handle import PreferenceQuery as PreferenceQuery
    from mead.preference.spark.points import GeneratedPoints as GeneratedPoints
    from mead.preference.spark.query import preference_query as preference_query
    from mead.preference.windows.panes import Windows as Windows
else:

    def __getattr__(name: str) -> object:
        """Import an exported name on first use."""
        from mead.exports import load_export  # noqa: PLC0415 - only now, so that the room itself loads nothing

        return load_export(__name__, name)
