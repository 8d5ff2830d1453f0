"""What a pass finds out about values before it folds."""

from __future__ import annotations

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
