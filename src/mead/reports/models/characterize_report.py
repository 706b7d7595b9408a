"""The report on a trace: its characteristics as a document and as tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from rich.table import Table
from rich.text import Text

from mead.queueing import METHOD, Characteristics
from mead.reports.tables import NOTHING, number, plain_table


@dataclass(frozen=True)
class CharacterizeReport:
    """The characteristics of a trace."""

    found: Characteristics

    def as_json(self) -> dict[str, Any]:
        """The document of `mead characterize --json`."""
        found, hurst = self.found, self.found.hurst
        return {
            "events": found.events,
            "duration_s": found.duration_s,
            "rate_per_s": found.rate_per_s,
            "scv": found.scv,
            "acf": {str(lag): value for lag, value in found.acf.items()},
            "idc": {f"{span_s:g}": value for span_s, value in found.idc.items()},
            "hurst": None if hurst is None else hurst.value,
            "hurst_error": None if hurst is None else hurst.error,
            "hurst_scales_s": None if hurst is None else [hurst.shortest_s, hurst.longest_s],
            "hurst_method": METHOD,
            "reasons": dict(found.reasons),
        }

    def tables(self) -> Iterator[Table | Text]:
        """Tables: the whole trace, then by lag and by span."""
        found, hurst = self.found, self.found.hurst
        summary = plain_table(f"{found.events:,} arrivals in {number(found.duration_s)} s", "", "")
        summary.show_header = False
        summary.add_row("rate", _with_unit(found.rate_per_s, "/s"))
        summary.add_row("squared coefficient of variation of IATs", _with_unit(found.scv, ""))
        summary.add_row(
            "Hurst parameter", NOTHING if hurst is None else f"{hurst.value:.3f} ± {1.96 * hurst.error:.3f}"
        )
        if hurst is not None:
            summary.add_row("  at scales of", f"{number(hurst.shortest_s)} to {number(hurst.longest_s)} s")
        yield summary
        if found.acf or found.idc:
            yield self._scales()
        for name, reason in found.reasons.items():
            yield Text(f"Note: {NAMES[name]}: {reason}.", style="yellow")

    def _scales(self) -> Table:
        table = plain_table("", "lag", "autocorrelation", "interval in s", "index of dispersion")
        table.columns[0].justify = "right"
        correlations = [(f"{lag:,}", NOTHING if at is None else f"{at:.4f}") for lag, at in self.found.acf.items()]
        dispersions = [(f"{span_s:,.10g}", number(at)) for span_s, at in self.found.idc.items()]
        for left, right in zip_longest(correlations, dispersions, fillvalue=("", "")):
            table.add_row(*left, *right)
        return table


NAMES = {
    "rate_per_s": "rate",
    "scv": "SCV",
    "acf": "autocorrelation",
    "idc": "index of dispersion",
    "hurst": "Hurst parameter",
}


def _with_unit(value: float | None, unit: str) -> str:
    return NOTHING if value is None else f"{number(value)}{unit}"
