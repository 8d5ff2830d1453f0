"""Times as people write them: in a format of their own, and by a clock on the wall; UTC time stamps out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core.table.arrow import of_numbers
from pipelines.reading.reasons import Reason
from pipelines.reading.values import (
    TIMESTAMP,
    Column,
    code_of,
    matches,
    no_codes,
    parse_texts,
    trimmed,
    true_at,
)

_ZONE = r"(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})"
_HAS_ZONE = r"^.{10}[ T].*([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)$"
_FRACTION = r"(?P<head>.*[0-9])[.,](?P<fraction>[0-9]{1,9})(?P<tail>[^0-9]*)"
_NAIVE = pa.timestamp("us")


@dataclass(frozen=True, slots=True)
class Clock:
    """How the times of a column are written: the zone of those that name none, and the format, None for ISO 8601."""

    zone: str = "UTC"
    form: str | None = None


ISO = Clock()


def read_times(texts: pa.Array, clock: Clock) -> Column:
    """Texts as time stamps."""
    if clock.form is not None:
        return parse_times(texts, clock.form, clock.zone)
    if clock.zone == "UTC":
        return parse_texts(texts, TIMESTAMP)
    try:
        return of_clock(pc.cast(texts, _NAIVE), clock.zone)
    except pa.ArrowInvalid:
        column = parse_texts(texts, TIMESTAMP)
    shown = of_clock(pc.cast(column.values, _NAIVE), clock.zone)
    bare = ~matches(trimmed(texts), _HAS_ZONE)
    codes = no_codes(len(texts)) if column.codes is None else column.codes
    if shown.codes is not None:
        codes = np.where(bare & (codes == 0), shown.codes, codes)
    values = pc.if_else(of_numbers(bare), shown.values, column.values)
    return Column(values, codes if codes.any() else None)


def parse_times(texts: pa.Array, form: str, zone: str) -> Column:
    """Texts written in a format (directives of strptime) as time stamps; one without a zone is of this one.

    A date that no calendar has (31/02/2026) and what does not follow the format is a problem; empty is NULL.
    """
    bare = trimmed(texts)
    present = true_at(pc.is_valid(bare))
    rest, offsets = bare, None
    if form.endswith(("%z", "Z")):
        form = form.removesuffix("%z").removesuffix("Z").rstrip()
        parts = pc.extract_regex(bare, rf"^(?P<rest>.*?) ?{_ZONE}$")
        rest, offsets = pc.struct_field(parts, "rest"), _offsets(pc.struct_field(parts, "zone"))
    fraction = None
    if "%S.%f" in form or "%S,%f" in form:
        form = form.replace(".%f", "").replace(",%f", "")
        parts = pc.extract_regex(rest, f"^{_FRACTION}$")
        fraction = pc.struct_field(parts, "fraction")
        rest = pc.binary_join_element_wise(pc.struct_field(parts, "head"), pc.struct_field(parts, "tail"), "")
    seconds = pc.strptime(rest, form, "s", error_is_null=True)
    seconds = pc.if_else(_same_numbers(rest, pc.strftime(seconds, form)), seconds, None)
    naive = pc.cast(seconds, _NAIVE)
    codes = no_codes(len(texts))
    if fraction is not None:
        micro, fine = _microseconds(fraction)
        naive = pc.add(naive, pc.cast(micro, pa.duration("us")))
        codes[fine & true_at(pc.is_valid(naive))] = code_of(Reason.TOO_FINE)
    if offsets is None:
        column = of_clock(naive, zone)
        values, shown = column.values, column.codes
        codes = codes if shown is None else np.where(codes == 0, shown, codes)
    else:
        values = pc.cast(pc.subtract(naive, offsets), TIMESTAMP)
    missing = true_at(pc.is_null(values)) & present & (codes == 0)
    codes[missing] = code_of(Reason.NOT_A_TIMESTAMP)
    return Column(values, codes if codes.any() else None)


def of_clock(naive: pa.Array, zone: str) -> Column:
    """What a clock in a zone showed, as time stamps; an hour that it showed twice or never is a problem."""
    if zone == "UTC":
        return Column(pc.cast(naive, TIMESTAMP))
    first = pc.assume_timezone(naive, zone, ambiguous="earliest", nonexistent="earliest")
    last = pc.assume_timezone(naive, zone, ambiguous="latest", nonexistent="latest")
    unsure = true_at(pc.not_equal(first, last))
    codes = no_codes(len(naive))
    codes[unsure] = code_of(Reason.NOT_ONE_INSTANT)
    return Column(pc.cast(first, TIMESTAMP), codes if unsure.any() else None)


def _same_numbers(texts: pa.Array, again: pa.Array) -> pa.Array:
    """Whether two texts have the same numbers, leading zeros aside: Arrow takes 31/02 for 03/03, which this shows."""
    return pc.equal(_numbers(texts), _numbers(again))


def _numbers(texts: pa.Array) -> pa.Array:
    spaced = pc.replace_substring_regex(texts, "[^0-9]+", " ")
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(spaced, r"\b0+([0-9])", r"\1"))


def _offsets(zones: pa.Array) -> pa.Array:
    """`+02:00` and the like as durations."""
    digits = pc.if_else(pc.equal(zones, "Z"), "+0000", pc.replace_substring(zones, ":", ""))
    hours = pc.cast(pc.utf8_slice_codeunits(digits, 1, 3), pa.int64())
    minutes = pc.cast(pc.utf8_slice_codeunits(digits, 3, 5), pa.int64())
    total = pc.multiply(pc.add(pc.multiply(hours, 60), minutes), 60_000_000)
    signed = pc.if_else(pc.starts_with(digits, "-"), pc.negate(total), total)
    return pc.cast(signed, pa.duration("us"))


def _microseconds(fractions: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Digits after the point of a second as microseconds, and where they say more than that."""
    nine = pc.utf8_rpad(fractions, 9, "0")
    fine = true_at(pc.not_equal(pc.utf8_slice_codeunits(nine, 6, 9), "000"))
    return pc.cast(pc.utf8_slice_codeunits(nine, 0, 6), pa.int64()), fine
