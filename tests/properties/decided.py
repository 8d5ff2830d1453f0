"""What the engine has to decide, worked out again from the stream: bursts, signatures, statistics, then `decide`.

For queries whose runs of B differ in prefix, predicate and aggregate. Shares no code with the kernels; the costs and
choices are those of `hamlet_core.sharing`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import gcd, inf

from hamlet_core.engines.hamlet.program.groups import SPARE
from hamlet_core.sharing.burst import Access, Burst, Decision, OpenGraphlet, Outcome, QuerySet, Storage
from hamlet_core.sharing.costs import CostModel, plan_cost
from hamlet_core.sharing.decide import decide
from hamlet_core.sharing.reasons import Reason
from hamlet_core.windows import WindowSpec

PREFIXES = {"": "", "A": "A a, ", "C": "C c, ", "AC": "A a, C c, ", "A+": "A a+, "}
SUFFIXES = {"": "", "D": ", D d", "N": ", NOT N n", "ND": ", NOT N n, D d"}
STEPS = {
    "": (Access.TOTAL, ""),
    "<": (Access.TREE, "b.x < NEXT(b).x"),
    "<=": (Access.TREE, "b.x <= NEXT(b).x"),
    "!=": (Access.TREE, "b.x + 1 != NEXT(b).x * 2"),
    "two": (Access.SCAN, "b.x < NEXT(b).x AND b.v <= NEXT(b).v"),
}


@dataclass(frozen=True, slots=True)
class Run:
    """A query `SEQ(prefix, B b+, suffix)`; `below` bounds b.v, `counted` is an alias whose events are counted too."""

    name: str
    prefix: str
    suffix: str
    step: str
    below: int | None
    counted: str | None

    @property
    def text(self) -> str:
        """The query, without its window."""
        asked = "COUNT(*)" if self.counted is None else f"COUNT(*), COUNT({self.counted})"
        bound = "" if self.below is None else f"b.v < {self.below}"
        order = "a.x <= NEXT(a).x" if self.prefix == "A+" else ""
        where = " AND ".join(filter(None, (order, bound, STEPS[self.step][1])))
        pattern = f"SEQ({PREFIXES[self.prefix]}B b+{SUFFIXES[self.suffix]})"
        if not self.prefix and not self.suffix:
            pattern = "B b+"
        return f"{self.name}: RETURN {asked} PATTERN {pattern}" + (f" WHERE {where}" if where else "")

    @property
    def types(self) -> set[str]:
        """Other positive types."""
        return set(self.prefix + self.suffix) - {"+", "N"}

    @property
    def numbers(self) -> int:
        """Of an element: the trends, and the events that are counted."""
        return 1 if self.counted is None else 2

    @property
    def inputs(self) -> tuple[str, ...]:
        """What enters from outside: trends of the prefix, and events counted in it."""
        return (self.prefix, f"{self.prefix} counted") if self.counted == "a" else (self.prefix,)

    def matches(self, event: Row) -> bool:
        """Whether an event of type B satisfies the local predicate."""
        return self.below is None or event.v < self.below


@dataclass(frozen=True, slots=True)
class Row:
    """An event."""

    time: int
    type: str
    v: int
    x: int


@dataclass(frozen=True, slots=True)
class Record:
    """A row of the log, sets as sets of names; `shared` and `alone` are costs."""

    pane: int
    burst: int
    bursts: int
    events: int
    sets: frozenset[frozenset[str]]
    outcome: str
    reason: str
    created: int
    carried: int
    shared: float
    alone: float

    def says(self) -> tuple[object, ...]:
        """What an equal decision has in common."""
        return self.pane, self.sets, self.outcome, self.reason


@dataclass(frozen=True, slots=True)
class Setting:
    """How a workload is run."""

    window: WindowSpec
    policy: str
    choice: str
    model: CostModel

    @property
    def everywhere(self) -> bool:
        """Whether graphlets are looked for also where nothing can be gained."""
        return self.policy == "always" or type(self.model).__name__ == "Paper"


@dataclass(frozen=True, slots=True)
class Roomy:
    """A cost model that knows how many snapshots there is room for."""

    model: CostModel
    room: int

    def shared(self, burst: Burst, queries: QuerySet, *, continuing: bool) -> float:
        fits = burst.snapshots(queries, continuing=continuing)[1] <= self.room
        return self.model.shared(burst, queries, continuing=continuing) if fits else inf

    def alone(self, burst: Burst, queries: QuerySet) -> float:
        return self.model.alone(burst, queries)

    def beside(self, burst: Burst, sets: Sequence[QuerySet], *, continuing: bool) -> float:
        carried = sum(burst.snapshots(one, continuing=continuing)[1] for one in sets)
        return self.model.beside(burst, sets, continuing=continuing) if carried <= self.room else inf


def groups_of(runs: Sequence[Run], setting: Setting) -> list[tuple[Run, ...]]:
    """Runs that may share, in the order in which the engine counts them: by predicate, those without one first."""
    known = [None, *dict.fromkeys(run.below for run in runs if run.below is not None)]
    found = []
    for step, (access, _) in STEPS.items():
        own = [run for run in runs if run.step == step]
        if not setting.everywhere and access is Access.TOTAL:
            own = [run for run in own if run.prefix == "A+"]  # the others are folded in closed form
        lanes = 1 if access is Access.TOTAL else len({one for run in own for one in run.inputs})
        unit = 1 + any(run.counted == "b" for run in own)
        gained = lanes * unit <= sum(run.numbers for run in own)
        if len(own) > 1 and (setting.everywhere or gained):
            found.append(tuple(sorted(own, key=lambda run: known.index(run.below))))
    return found


def decided(
    group: tuple[Run, ...], runs: Sequence[Run], rows: Sequence[Row], setting: Setting
) -> list[Record]:
    """The log of one group and partition; `rows` are in order of time."""
    found: list[Record] = []
    before: list[Row] = []
    indices = sorted({index for row in rows for index in setting.window.indices(row.time)})
    for index in indices:
        start, end = setting.window.bounds(index)
        inside = [row for row in rows if start <= row.time < end]
        if inside and inside != before:  # a window that holds the same events is not folded again
            found += _Window(group, runs, inside, setting).records()
        before = inside
    return found


@dataclass(slots=True)
class _Window:
    """Mutable: one window of one group."""

    group: tuple[Run, ...]
    runs: Sequence[Run]
    rows: Sequence[Row]
    setting: Setting
    open: tuple[OpenGraphlet, ...] = ()
    begun: bool = False
    fed: int = 0
    apart: bool = False
    """Members keep older events each by itself, so that nothing is decided any more."""
    done: int = 0
    """Events of earlier bursts."""
    found: list[Record] = field(default_factory=list)

    def records(self) -> list[Record]:
        for number, (burst, seen, closes) in enumerate(self._bursts()):
            if not self.apart:
                self._decide(number, burst, seen)
            if closes and self.access is Access.TOTAL:
                self.open = ()
        return self.found

    @property
    def access(self) -> Access:
        return STEPS[self.group[0].step][0]

    def _own(self, row: Row) -> bool:
        return row.type == "B" and any(run.matches(row) for run in self.group)

    @property
    def _ending(self) -> set[str]:
        """Types that end a burst."""
        return set().union(*(run.types for run in self.group)) | {
            "N" for run in self.group if "N" in run.suffix
        }

    def _kinds(self) -> Iterator[bool]:
        """Of the events that are the group's own, True, and of those that end its bursts."""
        for row in self.rows:
            if self._own(row) or row.type in self._ending:
                yield self._own(row)

    def _bursts(self) -> Iterator[tuple[list[Row], int, bool]]:
        """(events, events matched up to the end, whether another type closes what is open after it)"""
        positive, ending = set().union(*(run.types for run in self.group)), self._ending
        length = gcd(self.setting.window.within, self.setting.window.slide)
        burst: list[Row] = []
        pane = seen = 0
        for time, stamp in groupby(self.rows, key=lambda row: row.time):
            tied = list(stamp)
            own, touched = [row for row in tied if self._own(row)], any(row.type in ending for row in tied)
            here = (time - self.setting.window.origin) // length
            if burst and (touched or here != pane):
                yield burst, seen, touched
                burst = []
            elif touched and self.access is Access.TOTAL:
                self.open = ()
            seen += len(own) + sum(row.type in positive for row in tied)
            if own and touched:
                yield own, seen, True
            elif own:
                burst, pane = burst + own, here
        if burst:
            yield burst, seen, False

    def _burst(self, events: Sequence[Row], seen: int) -> Burst:
        signatures = [tuple(run.matches(row) for row in events) for run in self.group]
        differing = [place for place in range(len(events)) if len({one[place] for one in signatures}) > 1]
        inputs = [one for run in self.group for one in run.inputs]
        numbers = tuple(run.numbers for run in self.group)
        storage = Storage(numbers=numbers, lane_numbers=1 + any(run.counted == "b" for run in self.group))
        if self.access is not Access.TOTAL:
            mine = [row for row in self.rows if self._own(row)]
            after = mine[self.done + len(events) :]
            runs = sum(begins for begins, _ in groupby(self._kinds()))
            storage = replace(
                storage,
                access=self.access,
                stored=sum(
                    row.type == "B" and any(run.matches(row) for run in self.runs) for row in self.rows
                ),
                fed=self.fed,
                inputs=tuple(tuple(map(inputs.index, run.inputs)) for run in self.group),
                later_events=len(after),
                later_differing=sum(len({run.matches(row) for run in self.group}) > 1 for row in after),
                later_bursts=len(after) * runs / len(mine),
            )
        return Burst(
            *(len(events), seen, 1 + max(len(run.types) for run in self.group)),
            tuple(tuple(int(one[place]) for place in differing) for one in signatures),
            self.open,
            begun=self.begun,
            storage=storage,
        )

    def _decide(self, number: int, events: Sequence[Row], seen: int) -> None:
        burst = self._burst(events, seen)
        made = _decision(burst, self.setting, self.fed > 0 and self.access is not Access.TOTAL, self._room())
        goes_on = burst.continues(made.sets)
        own = [burst.snapshots(queries, continuing=goes_on) for queries in made.sets]
        record = Record(
            *(self._pane(events[0].time), number, 1, len(events)),
            frozenset(frozenset(self.group[member].name for member in queries) for queries in made.sets),
            *(made.outcome.value, made.reason.value),
            *(sum(created for created, _ in own), sum(carried for _, carried in own)),
            *(made.cost_shared, made.cost_alone),
        )
        self.begun = not made.sets
        self.apart = not made.sets and self.access is not Access.TOTAL
        size = {one.queries: one.events for one in burst.open} if goes_on else {}
        self.open = tuple(
            OpenGraphlet(queries, carried, size.get(queries, 0) + len(events))
            for queries, (_, carried) in zip(made.sets, own, strict=True)
        )
        self.fed = (self.fed if goes_on else 0) + len(events) if made.sets else 0
        self.done += len(events)
        self._note(record, made.outcome)

    def _note(self, record: Record, outcome: Outcome) -> None:
        """Decisions that say the same are one record."""
        if (
            self.found
            and outcome in {Outcome.CONTINUE, Outcome.APART}
            and self.found[-1].says() == record.says()
        ):
            last = self.found.pop()
            record = replace(
                last,
                bursts=last.bursts + 1,
                events=last.events + record.events,
                created=last.created + record.created,
                carried=last.carried + record.carried,
                shared=last.shared + record.shared,
                alone=last.alone + record.alone,
            )
        self.found.append(record)

    def _pane(self, time: int) -> int:
        length, origin = (
            gcd(self.setting.window.within, self.setting.window.slide),
            self.setting.window.origin,
        )
        return (time - origin) // length * length + origin

    def _room(self) -> int:
        return len({one for run in self.group for one in run.inputs}) + 2 * len(self.group) + SPARE


def _decision(burst: Burst, setting: Setting, bound: bool, room: int) -> Decision:
    """`bound`: older events hold what open graphlets came to; these go on, or all members go alone from now on."""
    model = Roomy(setting.model, room)
    everybody = plan_cost(model, burst, [burst.queries])
    alone = plan_cost(model, burst, ())
    if setting.policy == "always" and everybody == inf:
        return _nobody(burst, alone, everybody, Reason.NO_ROOM)
    if setting.policy == "always" or not bound:
        made = decide(burst, policy=setting.policy, choice=setting.choice, model=model)
        return made if made.cost < inf else _nobody(burst, alone, made.cost_shared, Reason.NO_ROOM)
    sets = tuple(one.queries for one in burst.open)
    shared = plan_cost(model, burst, sets)
    if shared < alone:
        return Decision(sets, Outcome.CONTINUE, shared, alone, shared, Reason.GOES_ON)
    return _nobody(burst, alone, shared, Reason.NOTHING_GAINED)


def _nobody(burst: Burst, alone: float, shared: float, reason: Reason) -> Decision:
    return Decision((), Outcome.SPLIT if burst.open else Outcome.APART, alone, alone, shared, reason)
