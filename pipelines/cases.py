"""Cases beside a workload: a few events in, the rows that its author expects of them.

jams.cases.yaml        a list of cases for jams.hamlet: name, events (CSV), rows
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hamlet_core import run
from pipelines.folder import FolderWorkload, WorkloadFolder, yaml_of
from pipelines.reading import discover, read_all
from pipelines.settings import JobSettings, SettingsError

SUFFIX = ".cases.yaml"
ENGINE = "greta"
"""The reference engine: it compiles nothing, and cases are small."""
CLOSE = 1e-9
"""How far a number with a point may be from what was found, relative to it."""


class Row(BaseModel):
    """One expected row: its query (where there are several), window, group, and numbers by aggregate."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    query: str | None = None
    window_start: int | datetime | date
    group: dict[str, Any] = {}
    values: dict[str, int | float | None]


class Case(BaseModel):
    """Events, and all rows that the workload finds in them; with `more`, some of them."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    events: str = Field(description="CSV with a header, with the columns of the stream")
    rows: tuple[Row, ...]
    more: bool = Field(default=False, description="Other rows may be found, too")


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a case came out; no problems is right."""

    case: str
    problems: tuple[str, ...]


def has_cases(workload: FolderWorkload) -> bool:
    """Whether there is a file of cases beside a workload."""
    return _file(workload).is_file()


def _file(workload: FolderWorkload) -> Path:
    return workload.file.with_name(f"{workload.name}{SUFFIX}")


def cases_of(workload: FolderWorkload) -> tuple[Case, ...]:
    """The cases beside a workload; none if there is no such file. Raises SettingsError for what is none."""
    place = _file(workload)
    if not has_cases(workload):
        return ()
    try:
        return TypeAdapter(tuple[Case, ...]).validate_python(yaml_of(place) or ())
    except ValidationError as wrong:
        lines = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong.errors()]
        hint = "a case has name, events, rows and perhaps more; a row query, window_start, group and values"
        raise SettingsError(f"{place}: {'; '.join(lines[:3])}", code="E533", hint=hint) from None


def judge(folder: WorkloadFolder, workload: str) -> tuple[Verdict, ...]:
    """Run the cases of a workload, with the reference engine and exactly; columns and origin are those of its settings."""
    settings = folder.settings(workload)
    return tuple(
        Verdict(one.name, tuple(_problems(one, settings))) for one in cases_of(folder.named(workload))
    )


def _problems(case: Case, settings: JobSettings) -> Iterator[str]:
    plans, options = settings.workload.plans, settings.source.options
    with tempfile.TemporaryDirectory(prefix="hamlet-case-") as scratch:
        place = Path(scratch, "events.csv")
        place.write_text(case.events, encoding="utf-8")
        events = read_all(discover(place), None, options, settings.workload.read, settings.workload.numeric)
    for row in events.rejected.to_pylist():
        yield f"row {row['row_number']} of the events is none: {row['reason']}"
    found = _found(settings, events.good)
    for row in case.rows:
        name = row.query or plans[0].name
        if row.query is None and len(plans) > 1:
            yield f"window {row.window_start}: there are several queries, name one of {', '.join(one.name for one in plans)}"
            continue
        key = name, _time(row.window_start), _group(row.group)
        shown = f"{name} window {row.window_start} group {_group(row.group)}"
        numbers = found.pop(key, None)
        if numbers is None:
            yield f"{shown}: there is no such row"
            continue
        for label, wanted in row.values.items():
            if label not in numbers:
                yield f"{shown}: there is no {label}, only {', '.join(numbers)}"
            elif not _equal(wanted, numbers[label]):
                yield f"{shown}: {label} is {_shown(numbers[label])}, not {wanted}"
    for name, start, group in () if case.more else found:
        values = ", ".join(f"{label} {_shown(row)}" for label, row in found[name, start, group].items())
        yield f"{name} window {start} group {group}: not expected, {values}"


def _found(settings: JobSettings, events: Any) -> dict[tuple[str, Any, str], dict[str, Mapping[str, Any]]]:
    """Result rows: (query, window, group) -> aggregate -> row."""
    rows = run(
        settings.workload.text,
        events,
        schema=settings.event_schema,
        engine=ENGINE,
        arithmetic="exact",
    )
    found: dict[tuple[str, Any, str], dict[str, Mapping[str, Any]]] = {}
    for row in rows.to_pylist():
        key = row["query"], row["window_start"], _group(json.loads(row["group_key"]))
        found.setdefault(key, {})[row["aggregate"]] = row
    return found


def _time(given: int | datetime | date) -> int | datetime:
    if isinstance(given, int):
        return given
    moment = (
        given if isinstance(given, datetime) else datetime(given.year, given.month, given.day, tzinfo=UTC)
    )
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _group(values: Mapping[str, Any]) -> str:
    return json.dumps(values, sort_keys=True, default=str, ensure_ascii=False)


def _equal(wanted: float | None, row: Mapping[str, Any]) -> bool:
    """Digits for whole numbers, where there are any; else about."""
    if wanted is None or (row["value"] is None and row["exact"] is None):
        return wanted is None and row["value"] is None and row["sign"] is None
    if row["exact"] is not None and (isinstance(wanted, int) or row["value"] is None):
        return Fraction(row["exact"]) == Fraction(wanted)
    return row["value"] is not None and math.isclose(row["value"], wanted, rel_tol=CLOSE, abs_tol=0.0)


def _shown(row: Mapping[str, Any]) -> str:
    if row["exact"] is not None:
        return str(row["exact"])
    return "NULL" if row["value"] is None else repr(row["value"])
