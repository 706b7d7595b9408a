"""Video frames with logos in them, made from nothing but their numbers: same number, same frame.

A frame is grey: a smooth ground, shapes of many sizes as a scene has them, noise, and up to two logos, brighter or
darker than they were drawn. Logos are drawn from their numbers, too. So what is in a frame is known without looking.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mead.arrays import IntArray

Image = npt.NDArray[np.uint8]

HEIGHT, WIDTH = 144, 192
LOGO = 48
"""Pixels on a side of a logo."""
CELLS = 8
"""Cells on a side of a logo, which is a mosaic and so has corners wherever one looks."""
WITH_LOGO = 0.4
"""The part of half frames that have a logo; a frame has two halves, so that logos do not cover each other."""
MOST_SHAPES = 12
NOISE = 2.0
"""Standard deviation, of 256 levels of grey."""

FRAME_SEED, LOGO_SEED = 1, 2


@lru_cache(maxsize=256)
def logo(number: int) -> Image:
    """A mosaic of grey cells."""
    cells = np.random.default_rng([LOGO_SEED, number]).integers(20, 236, size=(CELLS, CELLS), dtype=np.uint8)
    return np.kron(cells, np.ones((LOGO // CELLS, LOGO // CELLS), dtype=np.uint8))


def logos_in(number: int, shown: int) -> tuple[int, ...]:
    """Which of the first ``shown`` logos are in the frame of that number.

    >>> [logos_in(number, shown=20) for number in range(4)]
    [(), (13,), (4,), (9,)]
    """
    return tuple(which for which, _, _ in _placed(number, shown))


def frame(number: int, shown: int) -> Image:
    """The frame of that number."""
    rng = np.random.default_rng([FRAME_SEED, 1, number])
    ground = np.linspace(60, 60 + rng.uniform(20, 100), WIDTH)[None, :] + np.linspace(0, 40, HEIGHT)[:, None]
    for _ in range(rng.integers(2, MOST_SHAPES + 1)):
        y, x = rng.integers(0, HEIGHT - 8), rng.integers(0, WIDTH - 8)
        height, width = rng.integers(6, 60, size=2)
        ground[y : y + height, x : x + width] = rng.uniform(20, 236)
    for which, top, left in _placed(number, shown):
        contrast, brightness = rng.uniform(0.7, 1.1), rng.uniform(-15, 15)
        ground[top : top + LOGO, left : left + LOGO] = contrast * (logo(which).astype(float) - 128) + 128 + brightness
    noisy = ground + rng.normal(0.0, NOISE, size=ground.shape)
    return noisy.round().clip(0, 255).astype(np.uint8)


def make_frames(shown: int = 16) -> Callable[[IntArray], pa.RecordBatch]:
    """A function from numbers of frames to a column ``pixels`` (binary); ``shown`` is how many logos there are.

    >>> len(make_frames(shown=16)(np.array([3]))["pixels"][0].as_py()) == HEIGHT * WIDTH
    True
    """
    if shown < 1:
        raise ValueError(f"shown must be at least 1 logo, not {shown}")
    return partial(_frames, shown)


def _frames(shown: int, numbers: IntArray) -> pa.RecordBatch:
    pixels = [frame(number, shown).tobytes() for number in numbers.tolist()]
    return pa.record_batch({"pixels": pa.array(pixels, pa.binary())})


def _placed(number: int, shown: int) -> list[tuple[int, int, int]]:
    """Logo, top and left of each, from left to right."""
    rng = np.random.default_rng([FRAME_SEED, 0, number])
    places = []
    for half in range(2):
        if rng.random() < WITH_LOGO:
            top, left = rng.integers(0, HEIGHT - LOGO + 1), rng.integers(0, WIDTH // 2 - LOGO + 1)
            places.append((int(rng.integers(shown)), int(top), int(left) + half * (WIDTH // 2)))
    return places
