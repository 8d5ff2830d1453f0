"""Figures over a size: members of `hamlet compare` in turns on a stream and a workload of each size, answers checked.

What is said of a member that has no number is the code of its error or the limit of time, and it is not asked for more of
the same. The orderings that a paper prints are looked for at the largest size, and where one is not found it is said why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from hamlet_core import EventSchema, parse, run
from hamlet_core.engines.registry import TOGETHER
from hamlet_core.sharing.options import STATIC
from pipelines.comparing.members import Member
from pipelines.comparing.runs import Comparison, ComparisonError, Outcome, check_outcomes, compare
from tests.benchmarks import machine
from tests.benchmarks.answers import WrongAnswer
from tests.benchmarks.plots import Chart, picture
from tests.benchmarks.report import Finding
from tests.benchmarks.scale import Scale

LIMIT = 10.0
"""Seconds that a run may take."""
ROUNDS = 3
LATENCY, THROUGHPUT, MEMORY, PLANNING = "s per window", "events/s", "MB", "s planning"
NUMBERS = {LATENCY: "latency, s per window", THROUGHPUT: "throughput, events/s", MEMORY: "memory, MB"}
"""What is drawn of a member at a size, and the title of its chart."""


@dataclass(frozen=True)
class Material:
    """What is measured at one size: a workload, its stream, and how many windows that has."""

    text: str
    table: pa.Table
    windows: int


@dataclass(frozen=True)
class Sweep:
    """Something that grows while all else stays."""

    stream: str
    across: str
    sizes: tuple[int, ...]
    """From the smallest."""
    material: Callable[[int], Material]


@dataclass(frozen=True)
class Ordering:
    """What a paper says: one member answers before another. `why` tells what is behind it where that is not found."""

    fast: str
    slow: str
    why: str


Found = Mapping[tuple[int, str], Mapping[str, float] | str]
"""(size, name of the member) -> its numbers, or why it has none."""


def figures(
    key: str,
    title: str,
    scale: Scale,
    sweeps: Sequence[Sweep],
    members: Sequence[Member],
    orderings: Sequence[Ordering],
) -> Finding:
    """A table for each sweep and one of the orderings; a picture for each stream."""
    tables: dict[str, list[dict[str, Any]]] = {}
    of_orderings: list[dict[str, Any]] = []
    charts: dict[str, list[list[Chart]]] = {}
    names = [one.name for one in members]
    for sweep in sweeps:
        found = measured(sweep, members, scale)
        heading = f"{sweep.stream}, over {sweep.across}"
        tables[f"{heading}:"] = [
            {sweep.across: size, "contender": name}
            | (
                dict.fromkeys((*NUMBERS, PLANNING), own)
                if isinstance(own := found[size, name], str)
                else dict(own)
            )
            for size in sweep.sizes
            for name in names
        ]
        of_orderings += [{"figure": heading} | judged(one, sweep, found) for one in orderings]
        charts.setdefault(sweep.stream, []).append(drawn(sweep, found, names))
        machine.say(f"{key}. {heading}")
    tables["Orderings of the paper, at the largest size that the faster one has answered:"] = of_orderings
    how = (
        f"Runs of hamlet compare, each in a process of its own, in turns: medians of {1 if scale.quick else ROUNDS}, whole "
        "runs from Arrow to rows in one thread, imports and loading of kernels not counted; memory is the peak of the process. "
        "A plan that is made before events are folded is no part of latency and throughput, as in the papers. "
        "`greta`, `gloria`, `sharon`, `aseq` and the listing engines are event by event in Python; what their plans come to on "
        f"the compiled kernels is `hamlet by ...` and `hamlet never`. Rows are the same for all that answer. > {LIMIT:g} s: "
        "stopped; (...): not tried, because it had no number on less."
    )
    pictures = {f"figure-{key}-{stream}": picture(stream, rows) for stream, rows in charts.items()}
    return Finding(key, title, tables=tables, pictures=pictures, notes=(how,))


def measured(sweep: Sweep, members: Sequence[Member], scale: Scale) -> Found:
    """All members at all sizes."""
    found: dict[tuple[int, str], Mapping[str, float] | str] = {}
    failed: dict[str, str] = {}
    for size in sweep.sizes:
        material = sweep.material(size)
        run(material.text, material.table)  # kernels that are compiled once have no limit of time
        comparison = Comparison(
            parse(material.text),
            material.table,
            EventSchema(),
            limit=LIMIT,
            rounds=1 if scale.quick else ROUNDS,
        )
        outcomes = compare(comparison, [one for one in members if one.name not in failed])
        try:
            check_outcomes(outcomes)
        except ComparisonError as wrong:
            raise WrongAnswer(f"{sweep.stream}, {sweep.across} {size}: {wrong}") from wrong
        found |= {(size, name): f"({why})" for name, why in failed.items()}
        for one in outcomes:
            found[size, one.member.name] = shown(one, material.windows)
            if one.reason:
                failed[one.member.name] = shortly(one.reason)
    return found


def shown(outcome: Outcome, windows: int) -> Mapping[str, float] | str:
    """The numbers of a member at a size, or why it has none."""
    if outcome.reason:
        return shortly(outcome.reason)
    plans = outcome.member.engine in TOGETHER or outcome.member.optimizer in STATIC
    planning = outcome.planning_seconds if plans else 0.0
    seconds = outcome.seconds - planning
    return {
        LATENCY: seconds / windows,
        THROUGHPUT: outcome.events / seconds,
        MEMORY: outcome.peak_bytes / 1e6,
        PLANNING: planning,
    }


def shortly(reason: str) -> str:
    """The code of an error, or the limit.

    >>> shortly("[E302] sharon has no Kleene plus"), shortly("over the limit of 10 s")
    ('E302', '> 10 s')
    """
    return (
        reason[1 : reason.index("]")] if reason.startswith("[") else reason.replace("over the limit of", ">")
    )


def judged(ordering: Ordering, sweep: Sweep, found: Found) -> dict[str, Any]:
    """Whether the ordering is found, at the largest size at which the one that should be faster has answered."""
    says = {"paper": f"{ordering.fast} before {ordering.slow}"}
    answered = [size for size in sweep.sizes if not isinstance(found[size, ordering.fast], str)]
    if not answered:
        why = found[sweep.sizes[0], ordering.fast]
        return says | {"size": sweep.sizes[-1], "times": "", "found": f"not asked: {ordering.fast} {why}"}
    fast, slow = (found[answered[-1], name] for name in (ordering.fast, ordering.slow))
    if isinstance(slow, str) or isinstance(fast, str):
        return says | {"size": answered[-1], "times": "", "found": f"yes: {ordering.slow} {slow}"}
    times = slow[LATENCY] / fast[LATENCY]
    said = "yes" if times > 1 else f"no: {ordering.why}"
    return says | {"size": answered[-1], "times": times, "found": said}


def drawn(sweep: Sweep, found: Found, names: Sequence[str]) -> list[Chart]:
    """A chart for each number."""

    def lines(number: str) -> Iterator[tuple[str, list[tuple[float, float]]]]:
        for name in names:
            own = [(size, found[size, name]) for size in sweep.sizes]
            yield name, [(size, one[number]) for size, one in own if not isinstance(one, str)]

    return [
        Chart(sweep.across, title, dict(lines(number)), logarithmic=number != MEMORY)
        for number, title in NUMBERS.items()
    ]
