"""Stored against recomputed rows: digits agree entirely, scaled numbers within what their arithmetic promises."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest

from pipelines.checks.differences import Problem, differences

START = datetime(2026, 1, 1, tzinfo=UTC)


def row(value: float | None = 4.0, **changes: object) -> dict[str, object]:
    known = {
        "query": "q", "window_start": START, "window_end": START + timedelta(days=1), "group_key": "{}",
        "aggregate": "SUM(a.v)", "value": value, "exact": None, "fingerprint": None,
        "sign": None if value is None else int(math.copysign(1, value)) if value else 0,
        "log2": math.log2(abs(value)) if value else None,
    }  # fmt: skip
    return {**known, **changes}


def columns(stored: dict[str, object], expected: dict[str, object], digits: str | None = None) -> set[str]:
    return {one.column for one in differences([stored], [expected], digits)}


def test_digits_and_residues_must_be_there_and_agree():
    right = row(exact="4", fingerprint=4)
    assert columns(right, right, "exact") == columns(right, right, "fingerprint") == set()
    assert columns(row(exact=None), right, "exact") == {"exact"}
    assert columns(row(exact="5"), right, "exact") == {"exact"}
    assert columns(row(fingerprint=5), right, "fingerprint") == {"fingerprint"}
    assert columns(row(), right) == set()


def test_numbers_without_cancellation_agree_within_a_billionth():
    assert columns(row(4.0 * (1 + 1e-10)), row()) == set()
    assert columns(row(4.0 * (1 + 1e-8)), row()) == {"value", "log2"}
    assert columns(row(sign=None), row()) == {"sign"}
    assert columns(row(None, sign=1, log2=5000.0), row(None, sign=1, log2=5000.0)) == set()
    assert columns(row(None, sign=1, log2=5001.0), row(None, sign=1, log2=5000.0)) == {"log2"}


@pytest.mark.parametrize(
    ("stored", "expected", "magnitude", "wrong"),
    [
        (1e-7, 0.0, 10.0, set()),  # cancelled to nothing, up to the error of the terms
        (3.0, 4.0, math.log2(1e10), set()),
        (3.0, 4.0, math.log2(1e6), {"value", "log2"}),
        (-0.5, 0.5, math.log2(1e10), set()),
        (-0.5, 0.5, math.log2(1e6), {"value", "sign"}),
        (1e3, 0.0, 10.0, {"value", "log2"}),
    ],
)
def test_a_sum_of_terms_of_both_signs_may_err_by_a_billionth_of_its_terms(stored, expected, magnitude, wrong):
    assert columns(row(stored), row(expected, magnitude=magnitude)) == wrong


def test_missing_and_surplus_rows_are_named():
    other = row(group_key='{"g":1}')
    found = differences([row(), row(), other], [row(aggregate="COUNT(*)"), row()])
    assert sorted((one.problem, one.aggregate, one.group_key) for one in found) == [
        (Problem.MISSING, "COUNT(*)", "{}"),
        (Problem.SURPLUS, "SUM(a.v)", '{"g":1}'),
        (Problem.SURPLUS, "SUM(a.v)", "{}"),
    ]
