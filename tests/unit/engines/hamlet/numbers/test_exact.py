"""Exact sums of decimals of very different sizes in one column."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from hamlet_core import run


@pytest.mark.parametrize("engine", ["hamlet", "greta"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_a_small_negative_decimal_beside_one_of_38_digits(engine, sign):
    large = Decimal(sign + "9" * 36 + ".99")
    values = pa.array([Decimal("-1.10"), large], pa.decimal128(38, 2))
    events = pa.table({"time": [1, 2], "type": ["A", "A"], "v": values})
    # A window each: the small sum must be right in the digits that only the large one needs.
    text = "RETURN SUM(a.v) PATTERN A a WITHIN 1 s"
    first, second = run(text, events, engine=engine, arithmetic="exact").to_pylist()
    assert (first["exact"], first["value"], first["sign"]) == ("-1.10", -1.1, -1)
    assert (second["exact"], second["sign"]) == (str(large), -1 if sign else 1)
