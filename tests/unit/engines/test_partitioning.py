"""Partitions as arrays: the same as `partitions` makes row by row."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet_core import EventSchema
from hamlet_core.engines.hamlet.input.sorting import count_codes, dense_codes, order_codes
from hamlet_core.engines.partitioning import partition
from hamlet_core.engines.partitions import partitions
from hamlet_core.table.encode import encode

MOMENT = datetime(2015, 1, 1, 8, tzinfo=UTC)
KINDS = {
    "i": (pa.int64(), [0, 1, -3, 7]),
    "far": (pa.int64(), [-(2**63), 2**63 - 1, 0, 12_345_678_901]),
    "u": (pa.uint8(), [0, 255, 3]),
    "f": (pa.float64(), [0.0, -0.0, 1.5, -1e300, 5e-324]),
    "s": (pa.string(), ["", "a", 'q"\\', "Žluť 🚕", "null"]),
    "d": (pa.decimal128(20, 2), [Decimal("1.50"), Decimal("-0.05"), Decimal("0.00")]),
    "wide": (pa.decimal256(60, 0), [Decimal(10) ** 50, Decimal(1)]),
    "b": (pa.bool_(), [True, False]),
    "t": (pa.timestamp("us", "UTC"), [MOMENT, MOMENT.replace(microsecond=5), MOMENT.replace(year=1914)]),
    "n": (pa.null(), [None]),
    "e": (pa.dictionary(pa.int8(), pa.string()), ["x", "y"]),
}
NAMES = [*KINDS, "type", "time"]


def stream_of(columns, times, types=None):
    size = len(times)
    arrays = {name: pa.array(values, KINDS[name][0]) for name, values in columns.items()}
    table = pa.table(
        {"time": pa.array(times, pa.int64()), "type": pa.array(types or ["A"] * size, pa.string()), **arrays}
    )
    return encode(table, EventSchema(), [*columns, "type", "time"], frozenset("AB"))


@st.composite
def cases(draw):
    size = draw(st.integers(0, 30))
    columns = {
        name: draw(st.lists(st.none() | st.sampled_from(pool), min_size=size, max_size=size))
        for name, (_, pool) in KINDS.items()
    }
    times = draw(st.lists(st.integers(-4, 4), min_size=size, max_size=size))
    types = draw(st.lists(st.sampled_from("AB"), min_size=size, max_size=size))
    keep = draw(st.none() | st.lists(st.booleans(), min_size=size, max_size=size))
    names = st.lists(st.sampled_from(NAMES), max_size=3)
    return stream_of(columns, times, types), draw(names), draw(names), keep


def plain(found, count):
    """(group, rows) of each partition, as a sorted list."""
    order = np.arange(count) if found.order is None else found.order
    parts = []
    for place, group in enumerate(found.group.tolist()):
        rows = order[found.bounds[place] : found.bounds[place + 1]]
        parts.append((found.groups[group], tuple(rows.tolist())))
    return sorted(parts, key=lambda part: part[1])


def expected(stream, equivalence, group_by, keep):
    rows = [row for row in range(len(stream.times)) if keep is None or keep[row]]
    analysed = SimpleNamespace(equivalence=tuple(equivalence), group_by=tuple(group_by))
    return sorted(
        ((part.group, part.rows) for part in partitions(analysed, stream, rows)), key=lambda part: part[1]
    )


def check(stream, equivalence, group_by, keep=None):
    mask = None if keep is None else np.array(keep, np.bool_)
    found = partition(stream, equivalence, group_by, mask)
    assert plain(found, len(stream.times)) == expected(stream, equivalence, group_by, keep)
    assert found.bounds[0] == 0
    assert len(found.bounds) == len(found.group) + 1
    assert sorted(set(found.group.tolist())) == list(range(len(found.groups)))
    assert len(set(found.groups)) == len(found.groups)
    assert found.bounds.dtype == found.group.dtype == np.int64
    assert found.order is None or found.order.dtype == np.int64
    return found


@given(cases())
def test_the_same_partitions_as_row_by_row(case):
    check(*case)


@pytest.mark.parametrize("name", NAMES)
def test_each_kind_alone_with_nulls(name):
    pool = KINDS[name][1] if name in KINDS else [None]
    values = [None, *pool, *pool, None]
    columns = {name: values} if name in KINDS else {}
    stream = stream_of(columns, [3, 1, *range(len(values) - 2)], list("AB") + ["A"] * (len(values) - 2))
    check(stream, [name], [])
    check(stream, [], [name])


def test_one_partition_has_no_order():
    stream = stream_of({"i": [5, 5, 5]}, [1, 2, 3])
    assert check(stream, [], []).order is None
    assert check(stream, ["i"], ["i"]).order is None
    assert check(stream, ["i"], [], [True, True, True]).order is None
    assert check(stream, [], [], [True, False, True]).order.tolist() == [0, 2]


@pytest.mark.parametrize("edge", [2**63 - 1, -(2**63)])
def test_integers_at_the_end_of_their_range(edge):
    stream = stream_of({"i": [edge, None, edge]}, [1, 2, 3])
    check(stream, ["i"], [])
    check(stream, [], ["i"])


def test_no_row_no_partition():
    assert check(stream_of({"i": []}, []), ["i"], ["i"]).groups == ()
    assert check(stream_of({"i": [None, 1]}, [1, 2]), ["i"], [], [True, False]).groups == ()
    assert check(stream_of({"i": [1]}, [1]), [], [], [False]).groups == ()


def test_many_values_far_apart_and_pairs_of_them():
    random = np.random.default_rng(1)
    size = 20_000
    columns = {
        "far": (random.integers(0, 9_000, size) * 10**14).tolist(),
        "i": random.integers(0, 300, size).tolist(),
    }
    stream = stream_of(columns, list(range(size)))
    for equivalence, group_by in ((["far"], []), (["far", "i"], ["i"]), (["i"], ["far"])):
        check(stream, equivalence, group_by, (random.random(size) < 0.7).tolist())


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3)))
def test_dense_codes_are_numbers_in_order_of_first_appearance(values):
    codes, distinct = dense_codes(np.array(values, np.int64))
    firsts = list(dict.fromkeys(values))
    assert codes.tolist() == [firsts.index(value) for value in values]
    assert distinct == len(firsts)


def test_dense_codes_where_the_table_must_grow():
    values = np.random.default_rng(2).permutation(np.arange(50_000) * 2**40)
    codes, distinct = dense_codes(np.concatenate([values, values]))
    assert distinct == len(values)
    assert codes.tolist() == [*range(len(values)), *range(len(values))]


@given(st.lists(st.tuples(st.integers(-5, 5), st.booleans())))
def test_rows_in_order_of_codes_keep_their_order(rows):
    codes = np.array([code for code, _ in rows], np.int64)
    keep = np.array([kept for _, kept in rows], np.bool_)
    for mask in (keep, np.empty(0, np.bool_)):
        chosen = [row for row in range(len(rows)) if not mask.size or keep[row]]
        counts = count_codes(codes, -5, 11, mask)
        assert counts.sum() == len(chosen)
        assert order_codes(codes, -5, counts, mask).tolist() == sorted(chosen, key=lambda row: codes[row])
