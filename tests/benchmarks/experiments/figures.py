"""g. The figures of the paper in shape (HAMLET, section 6): latency, throughput and memory over rates and workloads.

Four streams; engine hamlet under each policy, GRETA, and the listing of trends. Memory, and the seconds of slow engines,
are those of a fresh process for every point.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from hamlet_core import run
from hamlet_core.streams import generate_stream, generate_workload
from tests.benchmarks import machine
from tests.benchmarks.answers import require_same_rows
from tests.benchmarks.plots import Chart, picture
from tests.benchmarks.point_child import main as alone
from tests.benchmarks.point_child import read, write
from tests.benchmarks.report import Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject
from tests.benchmarks.timing import Contender, interleaved

MINUTES = 15
WINDOWS, SLIDE = (5, 10), 5
LIMIT = 10.0
"""Seconds that a process may take."""
SEED = 7
POLICIES = ("dynamic", "always", "never")
LATENCY, THROUGHPUT, MEMORY = "s per slide", "events/s", "MB"
NUMBERS = {LATENCY: "latency, s per slide", THROUGHPUT: "throughput, events/s", MEMORY: "memory, MB"}
"""What is shown of a point, and the title of its chart."""


@dataclass(frozen=True)
class Point:
    """A stream's rate (events a minute) and the number of queries."""

    rate: int
    queries: int

    def is_within(self, other: Point) -> bool:
        """Whether the other has as many events and queries, or more."""
        return self.rate <= other.rate and self.queries <= other.queries


@dataclass(frozen=True)
class Ground:
    """A stream and its workload; the middle of each range stays while the other one varies."""

    stream: str
    rates: tuple[int, int, int]
    queries: tuple[int, int, int]
    adjacent_rate: float = 0.0
    knobs: dict[str, int] = field(default_factory=dict)
    """Of the stream and the workload."""

    @property
    def by_rate(self) -> tuple[Point, ...]:
        return tuple(Point(rate, self.queries[1]) for rate in self.rates)

    @property
    def by_queries(self) -> tuple[Point, ...]:
        return tuple(Point(self.rates[1], queries) for queries in self.queries)

    def events(self, rate: int) -> pa.Table:
        speed = {"hours": MINUTES / 60} if self.stream == "ridesharing" else {"rate": float(rate)}
        return generate_stream(self.stream, rate * MINUTES, SEED, **speed, **self.knobs)

    def workload(self, queries: int) -> str:
        mix = {"windows": WINDOWS, "slide": SLIDE, "adjacent_rate": self.adjacent_rate}
        return generate_workload(self.stream, queries, SEED, **mix, **self.knobs)


GROUNDS = (
    Ground("ridesharing", (200, 2_000, 20_000), (5, 15, 25)),
    Ground("taxi", (100, 400, 4_000), (10, 30, 50), adjacent_rate=0.5, knobs={"types": 20}),
    Ground("smart_home", (200, 2_000, 20_000), (5, 15, 25)),
    Ground("stock", (200, 1_000, 10_000), (20, 60, 100), adjacent_rate=0.5, knobs={"types": 20}),
)
SMALL = (
    Ground("ridesharing", (20, 30, 40), (2, 3, 4)),
    Ground("taxi", (10, 20, 30), (2, 3, 4), adjacent_rate=0.5, knobs={"types": 4}),
)


def measure(scale: Scale, subject: Subject) -> Finding:
    """Tables and a picture for each stream; an engine that fails on a point is not asked for more of the same."""
    contenders = {policy: (subject.engine, policy) for policy in POLICIES}
    contenders |= {name: (name, "never") for name in ("greta", "two_step")}
    tables: dict[str, list[dict[str, Any]]] = {}
    pictures: dict[str, bytes] = {}
    grounds = scale.of(GROUNDS, SMALL)
    for ground in grounds:
        with tempfile.TemporaryDirectory(prefix="hamlet-bench-") as folder:
            found = points_of(scale, ground, contenders, Path(folder))
        tables |= tables_of(ground, found)
        pictures[f"figure-{ground.stream}"] = drawn(ground, found, tuple(contenders))
        machine.say(f"g. {ground.stream}")
    return Finding(
        "g",
        f"Latency, throughput and memory on {len(grounds)} streams of {MINUTES} minutes",
        tables=tables,
        pictures=pictures,
        notes=(
            (
                "Seconds of run() end to end, over the slides of the stream (5 minutes each): medians of the three "
                "policies in turns, one run of greta and two_step; memory is the peak of one run beyond input and "
                "output. greta and two_step are the reference engines, in Python: what GRETA takes when it is "
                "compiled is shown in b and h. Rows are the same for all that answer; E301: more trends "
                f"than two_step lists; > {LIMIT:g} s: stopped; (...): not tried, because it failed on less."
            ),
        ),
    )


Found = dict[tuple[Point, str], dict[str, Any]]
"""What a contender took at a point ("seconds", "beyond"), or why it has no number ("refusal")."""


def points_of(scale: Scale, ground: Ground, contenders: dict[str, tuple[str, str]], folder: Path) -> Found:
    """All contenders at all points, the smallest first, where rows are those of the reference engine."""
    found: Found = {}
    points = sorted({*ground.by_rate, *ground.by_queries}, key=lambda point: (point.rate, point.queries))
    for point in points:
        table, text = ground.events(point.rate), ground.workload(point.queries)
        events = write(table, folder / "events.arrow")
        expected = run(text, table, engine="greta") if point == points[0] else None
        for name, (engine, policy) in contenders.items():
            if why := failed_before(found, point, name):
                found[point, name] = {"refusal": f"({why})"}
                continue
            Subject(engine).run(
                text, table.slice(0, 0), policy=policy
            )()  # no limit of time for what is compiled once
            rows = folder / f"{name}.arrow"
            found[point, name] = child(scale, [str(events), engine, policy], rows, text)
            if "refusal" not in found[point, name]:
                answered = read(rows)
                expected = answered if expected is None else expected
                require_same_rows(f"{ground.stream}, {point}, {name}", answered, expected)
        calls = {
            name: Subject(contenders[name][0]).run(text, table, policy=name)
            for name in POLICIES
            if "seconds" in found[point, name]
        }
        for name, seconds in in_turns(scale, calls, len(table), expected).items():
            found[point, name]["seconds"] = seconds
    return found


def in_turns(
    scale: Scale, calls: dict[str, Callable[[], pa.Table]], events: int, expected: pa.Table
) -> dict[str, float]:
    """Median seconds of each call; fresh processes would meet different moments of the machine."""

    def contender(name: str) -> Contender:
        return Contender(name, events, calls[name], lambda found: require_same_rows(name, found, expected))

    timed = interleaved([contender(name) for name in calls], scale.rounds)
    return {name: timing.median for name, timing in timed.items()}


def failed_before(found: Found, point: Point, name: str) -> str:
    """Why this contender had no number at a point with no more events and queries."""
    reasons = [
        one["refusal"]
        for (less, own), one in found.items()
        if own == name and less.is_within(point) and "refusal" in one
    ]
    return reasons[0] if reasons else ""


def child(scale: Scale, what: list[str], rows: Path, text: str) -> dict[str, Any]:
    """What `tests/benchmarks/point_child.py` measured, or that it took too long."""
    if scale.quick:  # its numbers mean nothing
        return alone(*what, str(rows), text)
    command = [sys.executable, "-m", "tests.benchmarks.point_child", *what, str(rows)]
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, cwd=machine.ROOT, check=False, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return {"refusal": f"> {LIMIT:g} s"}
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-2000:]}")
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def numbers(point: Point, one: dict[str, Any]) -> dict[str, float]:
    """The numbers that are shown of a point; none where there was no answer."""
    if "refusal" in one:
        return {}
    seconds = one["seconds"]
    return {
        LATENCY: seconds * SLIDE / MINUTES,
        THROUGHPUT: point.rate * MINUTES / seconds,
        MEMORY: one["beyond"] / 1e6,
    }


def tables_of(ground: Ground, found: Found) -> dict[str, list[dict[str, Any]]]:
    """A table over the rate, and one over the number of queries."""

    def rows(points: tuple[Point, ...]) -> list[dict[str, Any]]:
        return [
            {"events/min": point.rate, "queries": point.queries, "contender": name}
            | (numbers(point, one) or dict.fromkeys(NUMBERS, one["refusal"]))
            for wanted in points
            for (point, name), one in found.items()
            if point == wanted
        ]

    return {
        f"{ground.stream}, over events per minute:": rows(ground.by_rate),
        f"{ground.stream}, over the number of queries:": rows(ground.by_queries),
    }


def label(found: Found, name: str) -> str:
    """A contender as the legend has it: one without any number says why."""
    mine = [one for (_, own), one in found.items() if own == name]
    return name if any("seconds" in one for one in mine) else f"{name}: {mine[0]['refusal']}"


def drawn(ground: Ground, found: Found, names: tuple[str, ...]) -> bytes:
    """Three charts over the rate, three over the number of queries."""
    labels = {name: label(found, name) for name in names}

    def charts(points: tuple[Point, ...], across: str, size: str) -> list[Chart]:
        return [
            Chart(
                across,
                up,
                {
                    labels[name]: [
                        (getattr(point, size), shown[number])
                        for point in points
                        if (shown := numbers(point, found[point, name]))
                    ]
                    for name in names
                },
                logarithmic=number != MEMORY,
            )
            for number, up in NUMBERS.items()
        ]

    return picture(
        f"{ground.stream}, {ground.queries[1]} queries or {ground.rates[1]:,} events/min",
        [
            charts(ground.by_rate, "events per minute", "rate"),
            charts(ground.by_queries, "queries", "queries"),
        ],
    )
