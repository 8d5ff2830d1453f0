"""Attribute columns as doubles: each once, whatever asks for it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hamlet_core.algebra.aggregates import Component, Role
from hamlet_core.engines.hamlet.accumulators import UNIT_WEIGHT
from hamlet_core.engines.hamlet.numbers.columns import scaled_columns
from hamlet_core.table.encode import Column
from hamlet_core.table.kinds import Kind

COLUMNS = {
    "price": Column("price", Kind.DOUBLE, 0, pa.array([1.5, 0.0, 3.0])),
    "change": Column("change", Kind.INTEGER, 0, pa.array([2, None, -4])),
}


def columns_of(*asked: tuple[str | None, Role]) -> tuple[list[int], np.ndarray]:
    parts = [Component(role, "b", attribute) for attribute, role in asked]
    numbers, table = scaled_columns(parts, COLUMNS)
    return [numbers[part] for part in parts], table


def test_each_role_of_an_attribute_has_a_column() -> None:
    numbers, table = columns_of(
        ("change", Role.MAGNITUDE), ("change", Role.TOTAL), ("change", Role.PRESENT), ("change", Role.TOTAL)
    )
    assert numbers == [0, 1, 2, 1]
    assert table.tolist() == [[2.0, 0.0, 4.0], [2.0, 0.0, -4.0], [1.0, 0.0, 1.0]]


def test_ones_need_no_column() -> None:
    numbers, table = columns_of((None, Role.OCCURRENCES), ("price", Role.PRESENT))
    assert numbers == [UNIT_WEIGHT, UNIT_WEIGHT]
    assert table.size == 0
