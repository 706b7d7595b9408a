"""Features of an image: corners, and what the image looks like around each.

Corners are Harris and Stephens' ("A combined corner and edge detector", 1988). A corner is described as in SIFT (Lowe,
"Distinctive image features from scale-invariant keypoints", 2004, section 6.1): 4 x 4 histograms of 8 directions of the
gradient, weighted, normalized, cut at 0.2 and normalized again. SIFT also looks for the scale and turns the patch by
its main direction. A channel's logo is upright and of one size, and does without; so do we.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from mead.arrays import FloatArray

Image = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]

PATCH, CELLS, DIRECTIONS = 16, 4, 8
SIZE = CELLS * CELLS * DIRECTIONS
"""Length of a descriptor."""

SMOOTHING, NEIGHBOURHOOD = 1.5, 7
"""Pixels: of the structure tensor, and in which a corner is the strongest."""

SENSITIVITY = 0.05
"""Harris and Stephens' k."""

WEAKEST = 1e4
"""Responses below this are noise and no corners."""

LARGEST = 0.2
"""The most that one direction in one cell may count, so that a single strong edge does not outweigh all else."""


@dataclass(frozen=True, eq=False)
class Features:
    """Corners of one image."""

    places: Places
    """Row and column of each."""
    descriptors: Floats
    """`SIZE` numbers for each, of length 1."""


def features(image: Image) -> Features:
    """All corners whose surroundings are in the image.

    >>> square = np.zeros((48, 48), dtype=np.uint8)
    >>> square[16:32, 16:32] = 200
    >>> found = features(square)
    >>> found.places.tolist(), found.descriptors.shape
    ([[16, 16], [16, 31], [31, 16], [31, 31]], (4, 128))
    """
    grey = image.astype(np.float64)
    down, right = ndimage.sobel(grey, 0) / 8, ndimage.sobel(grey, 1) / 8
    places = _corners(down, right)
    return Features(places, _described(down, right, places))


def _corners(down: FloatArray, right: FloatArray) -> Places:
    """The strongest responses of their neighbourhoods, away from the border."""
    a, b, c = (ndimage.gaussian_filter(product, SMOOTHING) for product in (down * down, right * right, down * right))
    response = a * b - c * c - SENSITIVITY * (a + b) ** 2
    peaks = (response == ndimage.maximum_filter(response, NEIGHBOURHOOD)) & (response > WEAKEST)
    inner = np.zeros_like(peaks)
    half = PATCH // 2
    inner[half:-half, half:-half] = True
    return np.argwhere(peaks & inner)


def _described(down: FloatArray, right: FloatArray, places: Places) -> Floats:
    """Histograms of directions around every place."""
    if not places.size:
        return np.empty((0, SIZE), dtype=np.float32)
    offsets = np.arange(PATCH) - PATCH // 2
    rows = places[:, 0, None, None] + offsets[None, :, None]
    columns = places[:, 1, None, None] + offsets[None, None, :]
    along, across = down[rows, columns], right[rows, columns]
    # A pixel far from the corner counts less, so that a shift by a pixel changes little.
    weights = np.exp(-((offsets + 0.5) ** 2) / (2 * (PATCH / 2) ** 2))
    strength = np.hypot(along, across) * weights[:, None] * weights[None, :]
    direction = (np.arctan2(along, across) / (2 * np.pi) * DIRECTIONS).round().astype(np.int64) % DIRECTIONS
    cell = np.arange(PATCH) * CELLS // PATCH
    bins = (np.arange(len(places))[:, None, None] * CELLS + cell[:, None]) * CELLS + cell[None, :]
    counts = np.bincount((bins * DIRECTIONS + direction).ravel(), strength.ravel(), len(places) * SIZE)
    histograms = counts.reshape(len(places), SIZE).astype(np.float64, copy=False)
    return _unit(np.minimum(_unit(histograms), LARGEST)).astype(np.float32)


def _unit(vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))
