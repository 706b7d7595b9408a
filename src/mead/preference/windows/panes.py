"""Sliding windows divided into panes, which neighbouring windows share."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd


@dataclass(frozen=True)
class Windows:
    """Windows of a fixed length, one every slide from time 0 on, each a whole number of panes.

    A pane lasts ``gcd(length, slide)`` (Mencagli, Torquati and Danelutto, "Elastic-PPQ", 2018, section 2.1). There are
    no partial windows at the start.

    >>> windows = Windows(length_ms=1000, slide_ms=200)
    >>> windows.pane_ms, list(windows.of_pane(6)), list(windows.panes(2))
    (200, [2, 3, 4, 5, 6], [2, 3, 4, 5, 6])
    """

    length_ms: int
    slide_ms: int

    def __post_init__(self) -> None:
        if not 0 < self.slide_ms <= self.length_ms:
            raise ValueError(
                f"the slide must be at least 1 ms and at most the window; "
                f"got slide {self.slide_ms} ms and length {self.length_ms} ms"
            )

    @property
    def pane_ms(self) -> int:
        """Length of a pane."""
        return gcd(self.length_ms, self.slide_ms)

    @property
    def pane_us(self) -> int:
        """Length of a pane in microseconds, the unit of time stamps."""
        return 1000 * self.pane_ms

    @property
    def panes_per_window(self) -> int:
        """Number of panes of a window."""
        return self.length_ms // self.pane_ms

    @property
    def panes_per_slide(self) -> int:
        """Number of panes from the start of a window to that of the next."""
        return self.slide_ms // self.pane_ms

    def of_pane(self, pane: int) -> range:
        """Return the windows that contain a pane."""
        first = max(0, -((self.panes_per_window - 1 - pane) // self.panes_per_slide))
        return range(first, pane // self.panes_per_slide + 1)

    def panes(self, window: int) -> range:
        """Return the panes of a window."""
        first = window * self.panes_per_slide
        return range(first, first + self.panes_per_window)
