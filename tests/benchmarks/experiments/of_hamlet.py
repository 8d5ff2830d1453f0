"""f4. The figures of HAMLET in shape (SIGMOD 2021, section 6): latency, throughput and memory over rates and workloads.

Four streams of 15 minutes; the compiled engine under each policy and by the plans of the others, and the reference engines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from hamlet_core.streams import generate_stream, generate_workload
from pipelines.comparing.members import Member
from tests.benchmarks.report import Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject
from tests.benchmarks.sweeps import Material, Ordering, Sweep, figures

MINUTES = 15
LENGTHS, SLIDE = (5, 10), 5
"""Of windows, in minutes."""
SEED = 7

MEMBERS = (
    Member("hamlet"),
    Member("hamlet", policy="always"),
    Member("hamlet", policy="never"),
    Member("hamlet", optimizer="gloria"),
    Member("hamlet", optimizer="sharon"),
    Member("greta"),
    Member("sharon"),
    Member("shared_two_step"),
    Member("two_step"),
)
ORDERINGS = (
    Ordering(
        "hamlet", "greta", "windows hold few events, and what stands around the fold is most of the time"
    ),
    Ordering(
        "hamlet",
        "hamlet always",
        "no burst of this stream is one that costs more when it is shared, so that there is nothing to decide",
    ),
    Ordering(
        "hamlet",
        "hamlet never",
        "queries share little here, and to build what they might share once takes a few ms of the first run, which this is",
    ),
    Ordering("hamlet", "shared_two_step", "windows hold few trends, and to list them costs no more"),
    Ordering("hamlet", "sharon", "windows hold few events"),
)


@dataclass(frozen=True)
class Ground:
    """A stream and its workload; the middle of each range stays while the other one varies."""

    stream: str
    rates: tuple[int, ...]
    """Events a minute."""
    queries: tuple[int, ...]
    adjacent_rate: float = 0.0
    knobs: dict[str, int] = field(default_factory=dict)
    """Of the stream and the workload."""

    def sweeps(self) -> Iterator[Sweep]:
        """Over the rate, and over the number of queries."""
        rate, queries = (sizes[len(sizes) // 2] for sizes in (self.rates, self.queries))
        yield Sweep(self.stream, "events per minute", self.rates, partial(self.material, queries=queries))
        yield Sweep(self.stream, "queries", self.queries, partial(self.material, rate))

    def material(self, rate: int, queries: int) -> Material:
        """The stream with this rate, and so many queries."""
        speed = {"hours": MINUTES / 60} if self.stream == "ridesharing" else {"rate": float(rate)}
        table = generate_stream(self.stream, rate * MINUTES, SEED, **speed, **self.knobs)
        mix = {"windows": LENGTHS, "slide": SLIDE, "adjacent_rate": self.adjacent_rate}
        text = generate_workload(self.stream, queries, SEED, **mix, **self.knobs)
        times = table["time"]
        lasting = (
            times[-1].as_py() - times[0].as_py()
        ).total_seconds() / 60  # rides end later than they begin
        return Material(text, table, max(round(lasting / SLIDE), 1))


GROUNDS = (
    Ground("ridesharing", (200, 2_000, 20_000), (5, 15, 25)),
    Ground("taxi", (100, 400, 4_000), (10, 30, 50), adjacent_rate=0.5, knobs={"types": 20}),
    Ground("smart_home", (200, 2_000, 20_000), (5, 15, 25)),
    Ground("stock", (200, 1_000, 10_000), (20, 60, 100), adjacent_rate=0.5, knobs={"types": 20}),
)
SMALL = (Ground("ridesharing", (20,), (2, 3)),)


def measure(scale: Scale, subject: Subject) -> Finding:
    """Both sweeps of each stream."""
    sweeps = [sweep for ground in scale.of(GROUNDS, SMALL) for sweep in ground.sweeps()]
    members = scale.of(MEMBERS, (*MEMBERS[:3], *MEMBERS[5:7]))
    return figures("f4", "The figures of HAMLET", scale, sweeps, members, ORDERINGS[: scale.of(5, 3)])
