"""Arrow tables for a terminal: result rows in words and numbers, any other table as it is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hamlet_core.table.arrow import scalar_of
from pipelines.showing.largest import has_sizes, largest, ranked
from pipelines.showing.numbers import number, plain
from pipelines.showing.rows import rows_of
from pipelines.showing.visible import visible

UNLIMITED_WIDTH = 10_000
_DAY = timedelta(days=1)
_INSTANT = timedelta(microseconds=1)


def show_results(results: pa.Table, out: IO[str], limit: int) -> None:
    """Result rows (the columns of `hamlet_core.run`) as a table; the largest `limit` rows at most, 0 for all."""
    shown = largest(results, limit)
    rows = list(rows_of(shown))
    modular = any(row["fingerprint"] is not None for row in rows)
    titles = ("query", "window", "group", "aggregate", "value", *(("fingerprint",) if modular else ()))
    lines = [
        (row["query"], window(row), group(row["group_key"]), row["aggregate"], number(row))
        + ((cell(row["fingerprint"]),) if modular else ())
        for row in rows
    ]
    print_table(titles, lines, out, right=("value", "fingerprint"))
    which = "largest" if has_sizes(results) else "first"
    print(_count(results.num_rows, len(rows), which), file=out)


def show_wide(results: pa.Table, out: IO[str], limit: int, queries: Iterable[str]) -> None:
    """Result rows as a table per query: a line per window and group, the largest `limit` of all at most, 0 for all."""
    shown = largest(results, limit, wide=True)
    which = "largest" if has_sizes(results) else "first"
    for name in queries:
        own = scalar_of(name, pa.string())
        found, mine = (one.filter(pc.equal(one.column("query"), own)) for one in (results, shown))
        ranking, rows = ranked(mine), list(rows_of(mine))
        ends = ranking.first + ranking.length
        places = [rows[first:end] for first, end in zip(ranking.first, ends, strict=True)]
        print(f"{visible(name)}:", file=out)
        print_places(places, out)
        print(_count(len(ranked(found).first), len(places), which), file=out)


def print_places(places: Sequence[Sequence[Mapping[str, Any]]], out: IO[str]) -> None:
    """Windows and groups of one query, each given as its rows: a line each, aggregates side by side."""
    if not places:
        return
    groups = [json.loads(rows[0]["group_key"]) for rows in places]
    labels = [row["aggregate"] for row in places[0]]
    lines = [
        (window(rows[0]), *map(cell, values.values()), *map(number, rows))
        for rows, values in zip(places, groups, strict=True)
    ]
    print_table(("window", *groups[0], *labels), lines, out, right=labels)


def show_any(table: pa.Table, out: IO[str], limit: int) -> None:
    """Any table as it is; `limit` rows at most, 0 for all."""
    shown = table.slice(0, limit) if limit else table
    rows = [[cell(value) for value in row.values()] for row in _rows(shown)]
    right = [field.name for field in table.schema if _is_number(field.type)]
    print_table(table.column_names, rows, out, right=right)
    print(_count(table.num_rows, len(rows), "first"), file=out)


def print_table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], out: IO[str], right: Sequence[str] = ()
) -> None:
    """Columns with titles; a terminal folds what is too wide, a file or pipe gets whole lines."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in titles:
        table.add_column(
            Text(visible(title)),
            justify="right" if title in right else "left",
            no_wrap=not out.isatty(),
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(visible(value)) for value in row))
    width = None if out.isatty() else UNLIMITED_WIDTH
    console = Console(file=out, width=width, highlight=False, soft_wrap=False, emoji=False)
    with console.capture() as captured:
        console.print(table)
    lines = (line.rstrip() for line in captured.get().splitlines())
    out.write("\n".join(line for line in lines if line) + "\n")


def window(row: Mapping[str, Any]) -> str:
    """The bounds of a window: days, times, or bare numbers; the end is not in it.

    >>> window({"window_start": 0, "window_end": 30})
    '[0, 30)'
    >>> window({"window_start": datetime(2015, 1, 1), "window_end": datetime(2015, 1, 29)})
    '2015-01-01 .. 2015-01-28'
    >>> window({"window_start": datetime(2015, 1, 1, 8), "window_end": datetime(2015, 1, 1, 8, 30)})
    '2015-01-01 08:00 - 08:30'
    >>> window({"window_start": datetime(9999, 12, 31), "window_end": "+10000-01-01T08:00:00Z"})
    '9999-12-31 - +10000-01-01 08:00:00'
    """
    start, end = row["window_start"], row["window_end"]
    if isinstance(start, int):
        return f"[{start}, {end})"
    if isinstance(start, str) or isinstance(end, str):
        return f"{moment(start)} - {moment(end)}"
    if _is_midnight(start) and _is_midnight(end):
        last = end - _DAY
        return f"{start.date()}" if last == start else f"{start.date()} .. {last.date()}"
    if start.date() == (end - _INSTANT).date():
        return f"{start.date()} {_clock(start)} - {'24:00' if _is_midnight(end) else _clock(end)}"
    return f"{moment(start)} - {moment(end)}"


def group(key: str) -> str:
    """A group key in words.

    >>> group('{"base":"B00013","hour":8}'), group("{}")
    ('base=B00013, hour=8', 'all')
    """
    values = json.loads(key)
    return (
        ", ".join(f"{name}={'NULL' if value is None else value}" for name, value in values.items()) or "all"
    )


def moment(time: datetime | str) -> str:
    """Date and time, as short as it can be without loss; a text is ISO 8601, of a year that `datetime` does not know.

    >>> moment(datetime(2015, 1, 1)), moment("-0001-01-01T00:00:00Z")
    ('2015-01-01', '-0001-01-01')
    """
    if isinstance(time, str):
        return time.removesuffix("Z").replace("T", " ").removesuffix(" 00:00:00")
    return f"{time.date()}" if _is_midnight(time) else f"{time.date()} {_clock(time)}"


def cell(value: Any) -> str:  # noqa: PLR0911 - a case per type
    """One value of any table."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case float():
            return plain(value) if abs(value) < float("inf") else str(value)
        case datetime():
            return moment(value)
        case date() | str() | int():
            return str(value)
        case list() | dict():
            return json.dumps(value, default=str, ensure_ascii=False)
    return str(value)


def _rows(table: pa.Table) -> Iterable[dict[str, Any]]:
    """Rows as dicts, also where two columns have one name."""
    unique = table.rename_columns([str(place) for place in range(table.num_columns)])
    try:
        return iter(unique.to_pylist())
    except OverflowError:  # years beyond those of Python
        return rows_of(unique)


def _count(total: int, shown: int, which: str) -> str:
    rows = f"{total:,} {'row' if total == 1 else 'rows'}"
    if shown == total:
        return rows
    return f"{rows}, {f'the {which} {shown:,}' if shown else 'none'} shown (--limit 0 shows all)"


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_midnight(time: datetime) -> bool:
    return not (time.hour or time.minute or time.second or time.microsecond)


def _clock(time: datetime) -> str:
    if time.microsecond:
        return f"{time:%H:%M:%S.%f}".rstrip("0")
    return f"{time:%H:%M:%S}" if time.second else f"{time:%H:%M}"
