"""Exact sums of decimals of very different sizes in one column."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from hamlet_core import run

TEXT = "RETURN SUM(a.v), SUM(b.v) PATTERN SEQ(A a, B b) WITHIN 10 s"


@pytest.mark.parametrize("engine", ["hamlet", "greta"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_a_small_negative_decimal_beside_one_of_38_digits(engine, sign):
    large = Decimal(sign + "9" * 36 + ".99")
    values = pa.array([Decimal("-1.10"), large], pa.decimal128(38, 2))
    events = pa.table({"time": [1, 2], "type": ["A", "B"], "v": values})
    small_sum, large_sum = run(TEXT, events, engine=engine, arithmetic="exact").to_pylist()
    assert Decimal(small_sum["exact"]) == Decimal("-1.10")
    assert (small_sum["value"], small_sum["sign"]) == (-1.1, -1)
    assert large_sum["exact"] == str(large)
    assert large_sum["sign"] == (-1 if sign else 1)
