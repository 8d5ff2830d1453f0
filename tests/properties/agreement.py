"""Whether two engines agree on a workload: rows, digits and fingerprints to the last bit, doubles within the bound."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import isclose
from typing import Any

import pyarrow as pa

import hamlet_core
from hamlet_core import EventSchema, QueryMeaningError
from hamlet_core.algebra.aggregates import Component, Role, components
from hamlet_core.algebra.arithmetic import ARITHMETICS
from hamlet_core.language.syntax import Workload
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.results.counters import Counters
from tests.golden.harness import TOLERANCE, Key, row_key

Rows = dict[Key, dict[str, Any]]
HEAD = ("query", "window_start", "window_end", "group_key", "aggregate")


def compare(
    workload: Workload,
    events: pa.Table,
    schema: EventSchema,
    engine: str = "hamlet",
    reference: str = "greta",
    policy: str = "dynamic",
    optimizer: str = "auto",
) -> tuple[list[str], list[Counters]]:
    """What differs between an engine and the reference in all arithmetics, and the engine's counters of each."""
    asked = {"schema": schema, "engine": reference}
    try:
        truth = hamlet_core.run(workload, events, arithmetic="exact", **asked)
    except QueryMeaningError as refusal:
        return _refusals(workload, events, schema, engine, refusal), []
    wrong: list[str] = []
    counters = []
    for arithmetic in ("exact", "modular", "scaled"):
        how = {"engine": engine, "policy": policy, "optimizer": optimizer, "arithmetic": arithmetic}
        found = hamlet_core.execute(workload, events, schema=schema, **how)
        counters.append(found.counters)
        wrong += [f"{arithmetic}: {text}" for text in heads_differ(found.results, truth)]
        if wrong:
            break
        if arithmetic == "exact":
            wrong += [f"exact: {text}" for text in column_differs(found.results, truth, "exact")]
        if arithmetic == "modular":
            modular = hamlet_core.run(workload, events, arithmetic="modular", **asked)
            wrong += [f"modular: {text}" for text in column_differs(found.results, modular, "fingerprint")]
        wrong += [
            f"{arithmetic}: {text}" for text in doubles_differ(found.results, truth, workload, events, schema)
        ]
    return wrong, counters


def _refusals(
    workload: Workload, events: pa.Table, schema: EventSchema, engine: str, refusal: QueryMeaningError
) -> list[str]:
    try:
        hamlet_core.run(workload, events, schema=schema, engine=engine)
    except QueryMeaningError as error:
        return (
            [] if error.code == refusal.code else [f"{engine} refuses with {error.code}, not {refusal.code}"]
        )
    return [f"{engine} accepts what is refused with {refusal.code}"]


def heads_differ(found: pa.Table, truth: pa.Table) -> list[str]:
    """Rows that are missing, too many, or in another order."""
    if found.select(HEAD).equals(truth.select(HEAD)):
        return []
    here, there = _heads(found), _heads(truth)
    missing, more = sorted(set(there) - set(here)), sorted(set(here) - set(there))
    return [*(f"missing {key}" for key in missing[:3]), *(f"too many {key}" for key in more[:3])] or [
        "another order"
    ]


def _heads(table: pa.Table) -> list[tuple[str, ...]]:
    return [tuple(map(str, row.values())) for row in table.select(HEAD).to_pylist()]


def column_differs(found: pa.Table, truth: pa.Table, name: str) -> list[str]:
    """Rows, which stand in the same order in both, where a column is not the same."""
    if found[name].equals(truth[name]):
        return []
    rows = zip(found.to_pylist(), truth.to_pylist(), strict=True)
    return [
        f"{row_key(one)}: {name} is {one[name]}, should be {two[name]}"
        for one, two in rows
        if one[name] != two[name]
    ][:3]


def doubles_differ(
    found: pa.Table, truth: pa.Table, workload: Workload, events: pa.Table, schema: EventSchema
) -> list[str]:
    """Rows, in the same order in both, whose value, sign or log2 differs by more than SEMANTICS 8 allows."""
    wrong: list[str] = []
    sizes: Mapping[Key, Fraction] | None = None
    for row, true in zip(found.to_pylist(), truth.to_pylist(), strict=True):
        if (row["value"], row["sign"], row["log2"]) == (true["value"], true["sign"], true["log2"]):
            continue
        if (
            (row["value"] is None) == (true["value"] is None)
            and row["sign"] == true["sign"]
            and _near(row, true)
        ):
            continue
        if sizes is None:
            sizes = magnitudes(workload, events, schema)
        complaint = _beyond(row, true, sizes.get(row_key(row)))
        wrong += [f"{row_key(row)}: {complaint}"] if complaint else []
    return wrong[:3]


def _near(row: dict[str, Any], true: dict[str, Any]) -> bool:
    """Whether two rows of the same sign are within 1e-9 of each other."""
    if (row["log2"] is None) != (true["log2"] is None):
        return False
    return row["log2"] is None or (
        isclose(row["log2"], true["log2"], abs_tol=1.4e-9, rel_tol=1e-15)
        and (row["value"] is None or isclose(row["value"], true["value"], rel_tol=1e-9))
    )


def _beyond(row: dict[str, Any], true: dict[str, Any], size: Fraction | None) -> str:
    """What is wrong although `size`, the sum of absolute values, allows a wide error; or nothing."""
    shown = (
        f"{row['value']} {row['sign']} {row['log2']}, should be {true['value']} {true['sign']} {true['log2']}"
    )
    if size is None or row["value"] is None or true["value"] is None:
        return shown
    bound = size * TOLERANCE + Fraction(5e-324)
    if abs(Fraction(row["value"]) - Fraction(true["value"])) > bound:
        return shown
    drowned = abs(Fraction(true["value"])) <= bound * Fraction(10001, 10000)
    return "" if row["sign"] == true["sign"] or (row["sign"] is None and drowned) else shown


def magnitudes(workload: Workload, events: pa.Table, schema: EventSchema) -> dict[Key, Fraction]:
    """For each SUM and AVG the sum of absolute values, from the reference engine's scaled elements."""
    import pickle

    found: dict[Key, Fraction] = {}
    rows = hamlet_core.partials(
        workload, events, schema=schema, engine="greta", arithmetic="scaled"
    ).to_pylist()
    merged: dict[tuple[Any, ...], dict[Component | None, Fraction]] = {}
    parts = {
        one.query.name: components(one.query.aggregates, one.operands, ARITHMETICS["scaled"])
        for one in analyse_workload(workload)
    }
    for row in rows:
        element = pickle.loads(row["state"])[0]
        key = row["query"], row["window_start"], row["group_key"]
        sums = merged.setdefault(key, {})
        for part, number in zip(parts[row["query"]], element[1:], strict=True):
            if part.role in (Role.MAGNITUDE, Role.PRESENT):
                sums[part] = sums.get(part, Fraction(0)) + Fraction(number[0]) * Fraction(2) ** number[1]
    for one in analyse_workload(workload):
        for aggregate, alias in zip(one.query.aggregates, one.operands, strict=True):
            # Durations are never negative: what they add up to is its own magnitude.
            if aggregate.subject is not None or not aggregate.label.startswith(("SUM", "AVG")):
                continue
            for key, sums in merged.items():
                if key[0] != one.query.name:
                    continue
                size = sums[Component(Role.MAGNITUDE, alias, aggregate.attribute)]
                if aggregate.label.startswith("AVG"):
                    size /= max(sums[Component(Role.PRESENT, alias, aggregate.attribute)], 1)
                start = key[1] // 1_000_000 if pa.types.is_timestamp(events["t"].type) else key[1]
                found[key[0], start, key[2], aggregate.label] = size
    return found
