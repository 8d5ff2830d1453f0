"""What a pass finds out about values and rows before it folds."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from hamlet_core.engines.hamlet import passes

LARGEST, SMALLEST = 2.0**passes.RANGE, 2.0**-passes.RANGE


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        (0.0, True),
        (-0.0, True),
        (1.0, True),
        (-3.5, True),
        (LARGEST, True),
        (-LARGEST, True),
        (np.nextafter(LARGEST, np.inf), False),
        (-np.nextafter(LARGEST, np.inf), False),
        (SMALLEST, True),
        (-SMALLEST, True),
        (np.nextafter(SMALLEST, 0.0), False),
        (-np.nextafter(SMALLEST, 0.0), False),
        (5e-324, False),
        (1.7e308, False),
    ],
)
def test_values_fit_if_none_but_zero_is_too_large_or_too_small(value: float, fits: bool) -> None:
    for others in ([], [0.0], [-0.0, 2.0], [LARGEST, SMALLEST]):
        for values in ([value, *others], [*others, value]):
            given = np.array(values)
            assert passes._within_range(given) == fits
            assert given.tobytes() == np.array(values).tobytes()
    assert passes._within_range(np.array([]))


def test_rows_are_numbered_as_sorting_would_number_them() -> None:
    dense = 0
    for seed in range(200):
        draw = Random(seed)
        rows = np.array(draw.choices(range(5, draw.choice([6, 20, 1_000])), k=draw.randint(1, 30)), np.int64)
        own, place = passes._numbered(rows)
        expected, expected_place = np.unique(rows, return_inverse=True)
        assert own.tolist() == expected.tolist()
        assert place.tolist() == expected_place.tolist()
        dense += int(np.ptp(rows)) < passes.bursts.DENSE * len(rows)
    assert 0 < dense < 200
