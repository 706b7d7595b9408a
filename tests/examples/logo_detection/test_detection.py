"""Logos that were put into frames are found there, and no others."""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
import pyarrow as pa
import pytest
from logo_detection.aggregator import ENOUGH, judged, make_aggregator
from logo_detection.extractor import extract
from logo_detection.features import features
from logo_detection.frames import HEIGHT, SIDES, WIDTH, frame, logo, logos_in, make_frames
from logo_detection.matcher import NEAREST, logo_features, make_matcher

FRAMES, SHOWN, LOOKED_FOR = 60, 20, 16


@cache
def extracted() -> pa.RecordBatch:
    numbers = np.arange(FRAMES)
    pixels = make_frames(SHOWN)(numbers)["pixels"]
    return extract(pa.record_batch({"id": numbers, "arrival_us": 10 * numbers, "pixels": pixels}))


def test_every_logo_that_is_looked_for_is_found_where_it_is_and_nowhere_else() -> None:
    matches = make_matcher(LOOKED_FOR)(extracted())
    found = judged(ENOUGH, matches)
    there = {(n, one) for n in range(FRAMES) for one in logos_in(n, SHOWN) if one < LOOKED_FOR}
    others = {(n, one) for n in range(FRAMES) for one in logos_in(n, SHOWN) if one >= LOOKED_FOR}
    assert there
    assert others, "there are logos in the frames that nobody looks for"
    assert set(zip(found["id"].to_pylist(), found["logo"].to_pylist(), strict=True)) == there
    assert found["arrival_us"].to_pylist() == [10 * n for n in found["id"].to_pylist()]


def test_a_match_is_the_nearest_of_all_logo_features() -> None:
    some = extracted().slice(0, 60)
    known = logo_features(LOOKED_FOR)
    expected = []
    for row, one in enumerate(some["descriptor"].to_pylist()):
        descriptor = np.frombuffer(one, dtype=np.float32).astype(float)
        distances = [np.linalg.norm(descriptor - other) for other in known.descriptors]
        if min(distances) < NEAREST:
            k = int(np.argmin(distances))
            expected.append((some["id"][row].as_py(), int(known.logos[k]), int(known.points[k])))
    rows = make_matcher(LOOKED_FOR)(some)
    assert expected
    assert list(zip(*(rows[name].to_pylist() for name in ("id", "logo", "point")), strict=True)) == expected


def test_matches_do_not_depend_on_how_features_are_divided_among_tasks() -> None:
    match, whole = make_matcher(LOOKED_FOR), extracted()
    parts = [match(whole.slice(first, 37)) for first in range(0, whole.num_rows, 37)]
    assert (
        pa.Table.from_batches(parts)
        .drop_columns(["distance"])
        .equals(pa.Table.from_batches([match(whole)]).drop_columns(["distance"]))
    )


@pytest.mark.parametrize("side", SIDES)
def test_a_logo_looks_the_same_in_another_place_size_and_light(side: int) -> None:
    ground = np.full((HEIGHT, WIDTH), 128, dtype=np.uint8)
    scaled = cv2.resize(logo(3), (side, side), interpolation=cv2.INTER_AREA)
    ground[30 : 30 + side, 50 : 50 + side] = 0.8 * scaled + 20
    alike = features(ground) @ features(logo(3)).T
    assert np.unique(alike.argmax(axis=1)[np.sqrt(2 - 2 * alike.max(axis=1).clip(max=1)) < NEAREST]).size >= ENOUGH


def test_an_even_image_has_no_features() -> None:
    assert features(np.full((HEIGHT, WIDTH), 99, dtype=np.uint8)).shape == (0, 128)


def test_the_same_number_is_the_same_frame() -> None:
    assert (frame(5, SHOWN) == frame(5, SHOWN)).all()
    assert (frame(5, SHOWN) != frame(6, SHOWN)).any()


@pytest.mark.parametrize(
    "mistake",
    [lambda: make_matcher(0), lambda: make_matcher(nearest=0), lambda: make_aggregator(0), lambda: make_frames(0)],
)
def test_numbers_that_make_no_sense_are_refused(mistake: object) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        mistake()  # type: ignore[operator]
