"""Numbers, lengths of time and time stamps: exact or refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet_core.language import literals

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("007", 7),
        ("9" * 400, 10**400 - 1),
        ("9" * 401, None),
        ("0.5", Decimal("0.5")),
        ("1e399", Decimal(10) ** 399),
        ("1e400", None),
        ("1e-400", Decimal("1e-400")),
        ("1e-401", None),
        ("1e99999999999999999999", None),
        ("0." + "1" * 500, None),
        ("1" * 100_000, None),
    ],
)
def test_number(text, value):
    assert literals.number(text) == value


@pytest.mark.parametrize(
    ("amount", "unit", "microseconds"),
    [
        (1, "ms", 1_000),
        (Decimal("1.5"), "h", 5_400_000_000),
        (Decimal("0.001"), "ms", 1),
        (Decimal("0.0001"), "ms", None),
        (Decimal("0.000001"), "s", 1),
        (Decimal(1) / 3, "min", None),
        (2**62 // 1000, "ms", 2**62 // 1000 * 1000),
        (2**62 // 1000 + 1, "ms", None),
        (10**399, "d", None),
        (Decimal("1e-399"), "d", None),
        (0, "s", 0),
    ],
)
def test_duration(amount, unit, microseconds):
    assert literals.duration(amount, unit) == microseconds


@given(st.integers(-(2**62) + 1, 2**62 - 1))
def test_a_duration_reads_back(microseconds):
    text = literals.duration_text(microseconds)
    sign = -1 if text.startswith("-") else 1
    assert literals.length(text.removeprefix("-")) == sign * microseconds


@given(st.datetimes())
def test_a_time_stamp_reads_back(naive):
    microseconds = (naive.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
    assert literals.timestamp(naive.isoformat()) == microseconds
    assert literals.timestamp(literals.timestamp_text(microseconds)) == microseconds


@pytest.mark.parametrize("zone", ["Z", "+00:00", "-0000", "+0000"])
def test_zones_of_no_offset(zone):
    assert literals.timestamp(f"1970-01-01T00:00:00{zone}") == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2015",
        "2015-1-1",
        "2015-13-01",
        "2015-02-29",
        "0000-01-01",
        "2015-01-01 8:00",
        "2015-01-01 24:00",
        "2015-01-01 08:60",
        "2015-01-01 08:00:60",
        "2015-01-01 08:00:00.1234567",
        "2015-01-01 08:00+25:00",
        "2015-01-01 08:00+01:75",
        "2015-01-01 08",
        "2015-01-01Z",
        "20150101",
        "\u0662\u0660\u0661\u0665-01-01",
        "now",
    ],
)
def test_no_time_stamp(text):
    assert literals.timestamp(text) is None


def test_an_offset_is_the_distance_from_utc():
    assert (
        literals.timestamp("1970-01-01 00:00-01:30")
        == -literals.timestamp("1970-01-01 00:00+0130")
        == 5_400_000_000
    )


def test_offsets_may_leave_the_calendar_but_never_raise():
    assert literals.timestamp("0001-01-01 00:00+23:59") == -62135596800_000_000 - 86_340_000_000


def test_the_limit_of_a_duration_is_exact_in_every_decimal_context():
    longest = Decimal(literals.MAX_MICROSECONDS - 1) / 1000
    too_long = longest + 1
    with localcontext(Context(prec=2)):
        assert literals.duration(longest, "ms") == literals.MAX_MICROSECONDS - 1
        assert literals.duration(too_long, "ms") is None
