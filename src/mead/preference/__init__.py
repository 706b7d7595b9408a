"""Elastic-PPQ: skyline and top-delta queries over sliding windows.

Names are loaded on first use, so that Spark's workers load only what their tasks need.
"""

from __future__ import annotations

from importlib import import_module
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
    EXPORTED = {
        **dict.fromkeys(("PreferenceError", "Preferences"), "kernels.dominance"),
        "skyline": "kernels.skyline",
        **dict.fromkeys(("TopDelta", "top_delta"), "kernels.top_delta"),
        **dict.fromkeys(("Outcome", "Setting", "simulate"), "simulator.system"),
        "PreferenceQuery": "spark.handle",
        "GeneratedPoints": "spark.points",
        "preference_query": "spark.query",
        "Windows": "windows.panes",
    }

    def __getattr__(name: str) -> object:
        """Import an exported name on first use."""
        if name not in EXPORTED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{EXPORTED[name]}"), name)
