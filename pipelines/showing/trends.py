"""`--why`: what was asked, as values, and the trends found, as text or JSON."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from datetime import datetime
from typing import IO

import click
import numpy as np

from hamlet_core.describe.why import BoundEvent, Why
from pipelines.showing.visible import visible

_FAR = re.compile(r"[+-]\d{4,6}-|0000-")


def group_given(text: str) -> str:
    """A group key as typed: JSON, or pairs (`district=Harbour,hour=8`: 8 is a number), or `all`.

    >>> group_given("district=Harbour,hour=8"), group_given("all"), group_given('{"hour":"8"}')
    ('{"district": "Harbour", "hour": 8}', '{}', '{"hour":"8"}')
    """
    if text.strip() == "all":
        return "{}"
    if text.lstrip().startswith("{") or "=" not in text:
        return text
    pairs = (part.partition("=") for part in text.split(","))
    return json.dumps({name.strip(): _value(value.strip()) for name, _, value in pairs}, ensure_ascii=False)


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def window_given(text: str) -> int | datetime | np.datetime64:
    """The start of a window as typed: a whole number, or ISO 8601. Raises click.UsageError.

    >>> window_given("8"), window_given("+10000-01-01T00:00:00Z")
    (8, np.datetime64('10000-01-01T00:00:00.000000'))
    """
    try:
        return int(text)
    except ValueError:
        pass
    try:
        # Years that `datetime` does not know, as results show them.
        return (
            np.datetime64(text.removesuffix("Z"), "us") if _FAR.match(text) else datetime.fromisoformat(text)
        )
    except ValueError:
        raise click.UsageError(
            f"--why: {text!r} is no start of a window; give a number or a time such as 2026-01-05T08:00"
        ) from None


def trends_json(found: tuple[Why, ...]) -> str:
    """An array with an object a query, as `hamlet_core.why` returns it; attributes as objects."""
    objects = []
    for one in found:
        plain = asdict(one)
        for trend in plain["shown"]:
            for event in trend["events"]:
                event["attributes"] = dict(event["attributes"])
        plain["sides"] = dict(plain["sides"])
        objects.append(plain)
    return json.dumps(objects, ensure_ascii=False, indent=1)


def show_trends(found: tuple[Why, ...], out: IO[str]) -> None:
    """Each query with its window, the number of trends, and the first of them event by event."""
    for one in found:
        window = f"window {one.window_start} - {one.window_end}"
        print(visible(f"{one.query}: {window}, group {one.group_key}"), file=out)
        print(f"  {_counted(one)}", file=out)
        for place, trend in enumerate(one.shown, start=1):
            side = f" ({trend.side})" if trend.side else ""
            print(f"  trend {place}{side}", file=out)
            for event in trend.events:
                print(f"    {visible(_line(event))}", file=out)
        if one.trends is None:
            print("  and more (--limit 0 lists all)", file=out)
        elif len(one.shown) < one.trends:
            print(f"  and {one.trends - len(one.shown):,} more (--limit 0 lists all)", file=out)


def _counted(one: Why) -> str:
    if one.trends is None:
        return f"more than {len(one.shown):,} trends; COUNT(*) says how many"
    trends = f"{one.trends:,} {'trend' if one.trends == 1 else 'trends'}"
    if one.pairs is None:
        return trends
    sides = ", ".join(f"{count:,} {side}" for side, count in one.sides)
    return f"{trends} ({sides}), which make {one.pairs:,} {'pair' if one.pairs == 1 else 'pairs'}"


def _line(event: BoundEvent) -> str:
    values = "".join(f"  {name}={'NULL' if value is None else value}" for name, value in event.attributes)
    return f"{event.alias}: {event.type}  {event.time}  (row {event.row}){values}"
