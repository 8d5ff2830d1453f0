"""m. W50 with `b.x < NEXT(b).x` under the three matching modes: all queries and one, and how time and memory grow with
the window.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core import EventSchema, plan, run
from hamlet_core.execution import windowed_queries
from tests.benchmarks.answers import WrongAnswer
from tests.benchmarks.experiments.length import child, written
from tests.benchmarks.report import Claim, Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject
from tests.benchmarks.timing import Contender, Timing, interleaved, speed_up

MODES = ANY, NEXT, CONTIGUOUS = "skip-till-any-match", "skip-till-next-match", "contiguous"
CHECKED = 2
"""Queries whose answers are worked out a second way, and in windows of `BY_REFERENCE` events a third."""
BY_REFERENCE = 400
APART = LONG = 5.0
"""Times the speed of any: in W50's own windows, and in the longest."""
MEGABYTES = 16.0
"""By which memory beyond input and output may differ between windows of 1e4 and 1e6 events."""
READING = "reading alone"
NOBODY = ", NOT Nobody nobody)"


def measure(scale: Scale, subject: Subject) -> Finding:
    """`run()` of 50 queries and of one on W50's own window, then of 50 on longer ones, then memory."""
    windows = scale.of((10_000, 100_000, 1_000_000), (100, 400, 1_000))
    table, text = scale.stream(scale.of(2_000_000, 2_000)), scale.w50(within=windows[0], adjacent=True)
    _require_reference(scale, subject)
    own = [contender(subject, text, table, mode, "50 queries") for mode in MODES]
    own += [contender(subject, text.splitlines()[1], table, mode, "one query") for mode in MODES]
    own.append(reading(under(text, NEXT), table))
    short = table.slice(0, windows[-1])
    long = [
        contender(subject, scale.w50(within=size, adjacent=True), short, mode, named(size))
        for size in windows
        for mode in MODES
    ]
    timed = interleaved([*own, *long], scale.rounds)

    def times(mode: str, how: str) -> float:
        return speed_up(timed[f"{mode}, {how}"], timed[f"{ANY}, {how}"])

    with tempfile.TemporaryDirectory(prefix="hamlet-bench-") as name:
        file = written(scale, short.num_rows, Path(name))
        beyond = {
            mode: [
                child(scale, subject, file, under(scale.w50(within=size, adjacent=True), mode))["beyond"]
                for size in windows
            ]
            for mode in (NEXT, CONTIGUOUS)
        }
    apart = [
        Claim(f"{mode} / any, 50 queries", times(mode, "50 queries"), at_least=APART) for mode in MODES[1:]
    ]
    apart += [Claim(f"{mode} / any, one query", times(mode, "one query")) for mode in MODES[1:]]
    apart.append(
        Claim("reading alone / any, 50 queries: the most that a mode could be", times_of_reading(timed))
    )
    longest = [
        Claim(f"{mode} / any, {named(windows[-1])}", times(mode, named(windows[-1])), at_least=LONG)
        for mode in MODES[1:]
    ]
    flat = [
        Claim(f"{mode}: memory between windows", float(np.ptp(found)) / 1e6, at_most=MEGABYTES, unit="MB")
        for mode, found in beyond.items()
    ]
    return Finding(
        "m",
        f"Matching modes: W50 with b.x < NEXT(b).x, {table.num_rows:,} events, from Arrow to rows",
        tuple(timed.values()),
        (*apart, *longest, *flat),
        (
            (
                "Fifty queries of any share one ordered tree, in which each B looks; under next and contiguous runs of events that "
                "nothing waits for are passed over. In long windows the tree is larger than the caches, and what waits under next "
                "is not."
            ),
        ),
    )


def reading(text: str, table: pa.Table) -> Contender:
    """What `run()` does before anything is cut into windows or folded: columns checked, types and times encoded."""

    named_types = pa.array(sorted({name for query in plan(text) for name in query.types}))
    expected = pc.sum(pc.is_in(table["type"].cast(pa.string()), named_types)).as_py()

    def require_all(found: int) -> None:
        if found != expected:
            raise WrongAnswer(f"{READING}: {found} events, and not {expected}")

    return Contender(
        READING,
        table.num_rows,
        lambda: len(windowed_queries(text, table, EventSchema(), "scaled")[1]),
        require_all,
    )


def times_of_reading(timed: dict[str, Timing]) -> float:
    """How many times as fast as any a mode would be that folds in no time."""
    return speed_up(timed[READING], timed[f"{ANY}, 50 queries"])


def named(within: int) -> str:
    return f"50 queries, windows of {within:,}"


def under(text: str, mode: str) -> str:
    """The same queries in another mode."""
    return text.replace(" WHERE", f" SEMANTICS {mode} WHERE")


def contender(subject: Subject, text: str, table: pa.Table, mode: str, how: str) -> Contender:
    """`run()`, some of whose answers are compared."""
    changed, name = under(text, mode), f"{mode}, {how}"
    expected = alone(changed, table)
    return Contender(
        name,
        table.num_rows,
        subject.run(changed, table, policy="dynamic"),
        lambda found: require_rows(name, found, expected),
    )


def alone(text: str, table: pa.Table) -> dict[tuple[str, int], float]:
    """Rows of the first queries by the kernel that folds a query by itself; of any, with the policy never."""
    few = "\n".join(text.splitlines()[:CHECKED])
    if MODES[0] in text:
        return rows(run(few, table, policy="never", arithmetic="exact"))
    return rows(run(few.replace(") SEM", f"{NOBODY} SEM"), table, arithmetic="exact"))


def require_alone(name: str, found: pa.Table, text: str, table: pa.Table) -> None:
    """Raises WrongAnswer where rows of the first queries are not those of `alone`."""
    require_rows(name, found, alone(text, table))


def require_rows(name: str, found: pa.Table, expected: dict[tuple[str, int], float]) -> None:
    """Raises WrongAnswer where the queries of `expected` have other rows."""
    names = {query for query, _ in expected}
    mine = {key: value for key, value in rows(found).items() if key[0] in names}
    if mine.keys() != expected.keys():
        raise WrongAnswer(f"{name}: rows of {len(mine)} windows, and not of {len(expected)}")
    for key, value in expected.items():
        if not np.isclose(mine[key], value, rtol=1e-9, atol=0):
            raise WrongAnswer(f"{name}, {key}: log2 {mine[key]}, and not {value}")


def rows(found: pa.Table) -> dict[tuple[str, int], float]:
    """(query, start of the window) -> log2 of the count."""
    keys = zip(found["query"].to_pylist(), found["window_start"].to_pylist(), strict=True)
    return dict(zip(keys, found["log2"].to_pylist(), strict=True))


def _require_reference(scale: Scale, subject: Subject) -> None:
    """Small windows of the same stream as the reference engine has them, to the digit."""
    table = scale.stream(BY_REFERENCE * 3)
    for mode in MODES:
        text = under(scale.w50(within=BY_REFERENCE, adjacent=True), mode)
        expected, found = (
            run(text, table, engine="greta", arithmetic="exact"),
            subject.run(text, table, "exact")(),
        )
        if found["exact"] != expected["exact"]:
            raise WrongAnswer(f"{mode}: the reference has other counts")
