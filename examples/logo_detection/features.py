"""SIFT features of an image (Lowe, "Distinctive image features from scale-invariant keypoints", 2004), by OpenCV."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

SIZE = 128
"""Length of a descriptor."""

cv2.setNumThreads(1)  # a task is one processor


def features(image: Image) -> Floats:
    """The descriptors of all key points of an image, each of length 1.

    >>> even, edged = np.full((64, 64), 99, dtype=np.uint8), np.full((64, 64), 99, dtype=np.uint8)
    >>> edged[20:40, 20:40] = 200
    >>> features(even).shape, features(edged).shape[0] > 0
    ((0, 128), True)
    """
    points, found = _sift().detectAndCompute(image, np.empty(0, dtype=np.uint8))
    if not points:
        return np.empty((0, SIZE), dtype=np.float32)
    return np.asarray(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9), dtype=np.float32)


@cache
def _sift() -> cv2.SIFT:
    return cv2.SIFT.create()
