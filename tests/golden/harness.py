"""Golden cases as data, and the comparison of a result table with true rows, per arithmetic."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import isclose, log2
from pathlib import Path
from sys import float_info
from typing import Any

import pyarrow as pa

CASES = Path(__file__).parent / "cases"
FILES = ("paper", "corner", "random", "repeated", "workloads", "matching")
PRIME = 2**61 - 1
LARGEST = Fraction(float_info.max)
TOLERANCE = Fraction(1, 10**9)
_PLAIN = re.compile(r"-?\d+(\.\d*[1-9])?")

Key = tuple[str, int, str, str]
"""query, window_start, group_key, aggregate"""


@dataclass(frozen=True, slots=True)
class Case:
    """One golden case; `expected` holds the exact value (int, Fraction, None) of every result row."""

    name: str
    text: str
    events: tuple[Mapping[str, Any], ...]
    expected: Mapping[Key, int | Fraction | None]


def load(file: str) -> tuple[Case, ...]:
    """The cases of one file."""
    return tuple(_case(raw) for raw in json.loads((CASES / f"{file}.json").read_text("utf-8")))


def _case(raw: Mapping[str, Any]) -> Case:
    text = raw.get("workload") or raw["query"]
    by_query = raw["expected"]
    if isinstance(by_query, list):
        by_query = {text.split(":", 1)[0].strip(): by_query}
    expected = {
        key: value for name, rows in by_query.items() for row in rows for key, value in _entries(name, row)
    }
    return Case(raw["name"], text, tuple(raw["events"]), expected)


def _entries(query: str, row: Mapping[str, Any]) -> Iterable[tuple[Key, int | Fraction | None]]:
    group = group_key(row["group"])
    for label, value in row.items():
        if label not in ("group", "window_start"):
            number = Fraction(value) if isinstance(value, str) else value
            yield (query, row["window_start"], group, label), number


def group_key(group: Mapping[str, Any]) -> str:
    """GROUP-BY values as the column `group_key` spells them."""
    return json.dumps(group, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def table(events: Iterable[Mapping[str, Any]], fields: Mapping[str, pa.DataType] | None = None) -> pa.Table:
    """Events as an Arrow table: a column per attribute, NULL where an event lacks it."""
    rows = list(events)
    kinds: dict[str, pa.DataType] = {"t": pa.int64(), "type": pa.string(), **(fields or {})}
    for row in rows:
        for name, value in row.items():
            if kinds.get(name) is None and value is not None:
                kinds[name] = pa.string() if isinstance(value, str) else pa.int64()
            kinds.setdefault(name, None)
    columns = {
        name: pa.array([row.get(name) for row in rows], kind or pa.int64()) for name, kind in kinds.items()
    }
    return pa.table(columns)


@dataclass(frozen=True, slots=True)
class Truth:
    """One true value, with what the checks have to know about its aggregate."""

    label: str
    value: int | Fraction | None
    magnitude: int | Fraction | None
    double: bool
    scale: int

    @property
    def total(self) -> bool:
        """Whether it is a SUM or an average, which no arithmetic gives exactly over doubles."""
        return self.label.startswith(("SUM", "AVG"))

    @property
    def bound(self) -> Fraction:
        """How far a scaled value may be from the true one: what never exceeds the number of events is exact."""
        small = self.label.startswith(("REACH", "COUNT(PARTITIONS)", "COUNT(DISJOINT)"))
        return Fraction(0) if small else TOLERANCE * abs(self.magnitude)


def differences(
    result: pa.Table,
    expected: Mapping[Key, int | Fraction | None],
    arithmetic: str,
    magnitudes: Mapping[Key, int | Fraction | None] | None = None,
    *,
    doubles: Iterable[str] = (),
    scales: Mapping[str, int] | None = None,
) -> list[str]:
    """What is wrong with a result of `run`: missing rows, rows too many, and wrong values; [] if it is right.

    `magnitudes` are the sums of absolute terms that bound the error of scaled results (default: the values);
    `doubles` are attributes in DOUBLE columns, `scales` the scales of DECIMAL columns and of DURATION.
    """
    rows = {row_key(row): row for row in result.to_pylist()}
    wrong = [f"missing {key}" for key in expected if key not in rows]
    wrong += [f"too many {key}" for key in rows if key not in expected]
    for key in expected.keys() & rows.keys():
        name = "DURATION" if key[3].endswith("(DURATION)") else key[3].rstrip(")").rpartition(".")[2]
        magnitude = (magnitudes or expected)[key]
        truth = Truth(key[3], expected[key], magnitude, name in doubles, (scales or {}).get(name, 0))
        wrong += [f"{key}: {text}" for text in _CHECKS[arithmetic](truth, rows[key])]
    if len(rows) != result.num_rows:
        wrong.append("a row stands twice")
    return wrong


def row_key(row: Mapping[str, Any]) -> Key:
    start = row["window_start"]
    if isinstance(start, datetime):
        start = (start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    return row["query"], start, row["group_key"], row["aggregate"]


def _exact(truth: Truth, row: Mapping[str, Any]) -> list[str]:
    true = None if truth.double and truth.total else truth.value
    found = None if row["exact"] is None else Fraction(row["exact"])
    complaints = [] if found == true else [f"exact is {row['exact']}, should be {true}"]
    if truth.label.startswith("AVG"):
        if found is not None and row["exact"] != str(found):
            complaints.append(f"{row['exact']} is not reduced")
    elif truth.label.endswith("(DURATION)") and found is not None and not _PLAIN.fullmatch(row["exact"]):
        complaints.append(f"{row['exact']} is no decimal without trailing zeros")
    return complaints + _scaled(truth, row)


def _scaled(truth: Truth, row: Mapping[str, Any]) -> list[str]:
    found, sign, value = row["value"], row["sign"], truth.value
    if value is None:
        filled = [name for name in ("value", "sign", "log2") if row[name] is not None]
        return [f"{name} is {row[name]}, should be NULL" for name in filled]
    bound = truth.bound
    if (found is None) != (abs(value) > LARGEST) or (
        found is not None and abs(Fraction(found) - value) > bound
    ):
        return [f"value is {found}, should be {value}"]
    true_sign = (value > 0) - (value < 0)
    if sign != true_sign and not (sign is None and abs(value) <= bound):
        return [f"sign is {sign}, should be {true_sign}"]
    if value == 0 and row["log2"] is not None:
        return [f"log2 of 0 is {row['log2']}"]
    if value != 0 and sign is not None and not isclose(row["log2"], _log2(value), abs_tol=1e-8):
        return [f"log2 is {row['log2']}, should be {_log2(value)}"]
    return []


def _log2(value: int | Fraction) -> float:
    exact = Fraction(abs(value))
    return log2(exact.numerator) - log2(exact.denominator)


def _modular(truth: Truth, row: Mapping[str, Any]) -> list[str]:
    counted = truth.label.startswith(("COUNT", "REACH", "SUM")) and not truth.double
    true = int(truth.value * 10**truth.scale) % PRIME if counted else None
    return [] if row["fingerprint"] == true else [f"fingerprint is {row['fingerprint']}, should be {true}"]


_CHECKS = {"exact": _exact, "scaled": _scaled, "modular": _modular}
ARITHMETICS = tuple(_CHECKS)
