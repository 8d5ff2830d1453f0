"""Counts far beyond 64 bits: scaled and modular results are the exact ones, rounded and reduced."""

from fractions import Fraction
from random import Random

import pyarrow as pa

from hamlet_core import QueryMeaningError
from tests.golden import harness
from tests.properties import comparison, generation


def test_the_arithmetics_agree_on_long_streams():
    digits = 0
    for seed in range(60):
        case = generation.long_case(Random(seed), 90)
        try:
            truth = exact(case)
        except QueryMeaningError:
            continue
        for arithmetic in ("scaled", "modular"):
            result = comparison.run(case, "greta", arithmetic)
            result = result.filter(
                pa.array([harness.row_key(row) in truth for row in result.to_pylist()], pa.bool_())
            )
            scales = {"m": comparison.SCALE}
            assert harness.differences(result, truth, arithmetic, scales=scales) == [], case
        digits = max(digits, *(len(str(value)) for value in truth.values()), 0)
    assert digits > 22


def exact(case):
    """Exact values by key, without those over doubles that have none."""
    rows = comparison.run(case, "greta", "exact").to_pylist()
    doubles = [row for row in rows if ".d)" in row["aggregate"]]
    return {
        harness.row_key(row): None if row["exact"] is None else Fraction(row["exact"])
        for row in rows
        if row not in doubles
    }
