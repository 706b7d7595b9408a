"""Video frames with logos in them, made from nothing but their numbers: same number, same frame.

A frame is grey: a smooth ground, shapes of many sizes as a scene has them, noise, and up to two logos, larger or
smaller, brighter or darker than they were drawn. Logos are drawn from their numbers, too. So what is in a frame is
known without looking.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import cv2
import numpy as np
import pyarrow as pa

from logo_detection.features import Image
from mead.arrays import IntArray

FONT = cv2.FONT_HERSHEY_SIMPLEX
HEIGHT, WIDTH = 576, 768
LOGO = 128
"""Pixels on a side of a logo, as it was drawn."""
SIDES = (96, 160)
"""Smallest and largest side of a logo in a frame."""
ELLIPSES, LETTERS = 20, 3
"""Parts of a logo."""
WITH_LOGO = 0.4
"""The part of half frames that have a logo; a frame has two halves, so that logos do not cover each other."""
MOST_SHAPES = 24
NOISE = 2.0
"""Standard deviation, of 256 levels of grey."""

FRAME_SEED, LOGO_SEED = 1, 2


@lru_cache(maxsize=256)
def logo(number: int) -> Image:
    """Ellipses and letters, one over the other."""
    rng = np.random.default_rng([LOGO_SEED, number])
    drawn = np.full((LOGO, LOGO), _grey(rng), dtype=np.uint8)
    for _ in range(ELLIPSES):
        (x, y), (width, height) = rng.integers(0, LOGO, 2).tolist(), rng.integers(LOGO // 24, LOGO // 5, 2).tolist()
        cv2.ellipse(drawn, (x, y), (width, height), rng.uniform(0, 180), 0, 360, [_grey(rng)], -1, cv2.LINE_AA)
    for _ in range(LETTERS):
        letter, x, y = chr(ord("A") + rng.integers(26)), rng.integers(2 * LOGO // 3), rng.integers(LOGO // 3, LOGO)
        cv2.putText(drawn, letter, (int(x), int(y)), FONT, LOGO / 48, [_grey(rng)], LOGO // 24, cv2.LINE_AA)
    return drawn


def _grey(rng: np.random.Generator) -> int:
    return int(rng.integers(20, 236))


def logos_in(number: int, shown: int) -> tuple[int, ...]:
    """Which of the first ``shown`` logos are in the frame of that number.

    >>> [logos_in(number, shown=20) for number in range(4)]
    [(), (3,), (0,), (1,)]
    """
    return tuple(which for which, *_ in _placed(number, shown))


def frame(number: int, shown: int) -> Image:
    """The frame of that number."""
    rng = np.random.default_rng([FRAME_SEED, 1, number])
    ground = np.linspace(60, 60 + rng.uniform(20, 100), WIDTH)[None, :] + np.linspace(0, 40, HEIGHT)[:, None]
    ground = ground.astype(np.float32)
    for _ in range(rng.integers(2, MOST_SHAPES + 1)):
        y, x = rng.integers(0, HEIGHT - 8), rng.integers(0, WIDTH - 8)
        height, width = rng.integers(6, HEIGHT // 3, size=2)
        ground[y : y + height, x : x + width] = rng.uniform(20, 236)
    for which, top, left, side in _placed(number, shown):
        contrast, brightness = rng.uniform(0.7, 1.1), rng.uniform(-15, 15)
        scaled = cv2.resize(logo(which), (side, side), interpolation=cv2.INTER_AREA)
        ground[top : top + side, left : left + side] = contrast * (scaled.astype(np.float32) - 128) + 128 + brightness
    noisy = ground + NOISE * rng.standard_normal(ground.shape, dtype=np.float32)
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


def _placed(number: int, shown: int) -> list[tuple[int, int, int, int]]:
    """Logo, top, left and side of each, from left to right."""
    rng = np.random.default_rng([FRAME_SEED, 0, number])
    places = []
    for half in range(2):
        if rng.random() < WITH_LOGO:
            side = int(rng.integers(SIDES[0], SIDES[1] + 1))
            top, left = rng.integers(0, HEIGHT - side + 1), rng.integers(0, WIDTH // 2 - side + 1)
            places.append((int(rng.integers(shown)), int(top), int(left) + half * (WIDTH // 2), side))
    return places
