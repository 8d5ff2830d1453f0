"""The constants of the measured cost model, from runs of the event kernel on this machine.

One thing differs between two trials: who shares, queries, inputs, events of a burst or of a window. A constant is a
difference of their times, divided by how often its step is done. A time is the shortest of many interleaved runs: other
programs make runs longer only, and on a busy machine more than half of them.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import log2

import numpy as np
import pyarrow as pa

from hamlet_core.bench.kernels import Prepared, prepare_bench
from hamlet_core.sharing.burst import Access
from hamlet_core.sharing.costs import Constants
from hamlet_core.sharing.options import Sharing
from hamlet_core.table.schema import EventSchema

_FREE = Constants(**dict.fromkeys((one.name for one in fields(Constants)), 0.0))
TOGETHER = Sharing(rests=False, constants=replace(_FREE, apart=1e15, graphlet=1e12, mixed=1e9))
"""All share one graphlet: to go alone is far too dear, and so is a second graphlet."""
APART = Sharing(rests=False, constants=replace(_FREE, graphlet=1e15))
"""Nobody shares, although all may."""

FEW, MANY = 4, 32
"""Queries."""
SHORT, LONG = 8, 64
"""Events of a burst."""
WINDOW = 256
"""Events of a window of running totals: what they come to stays in the range of doubles."""
NEWER = 16
"""Events of a burst on one of which 8 queries differ, or on none."""
LEAVES, OLDER = 1_024, 128
"""Events that a tree holds, and a scan."""
SPARSE, DENSE = 64, 2_048
"""Leaves of a tree of which `USED` are used, by 2 snapshots or by 32."""
USED = 8

BATCHES, ROUNDS = 5, 11

_ALIKE, _SOME, _NOBODY = 0, 1_000, 10_000
"""Values of `v`: all queries match, about half of them, none."""

_PAIRS = {
    Access.TOTAL: "a.x < NEXT(p).x",  # such a query is folded event by event, its B in running totals
    Access.TREE: "b.x < NEXT(b).x",
    Access.SCAN: "b.x < NEXT(b).x AND b.v < NEXT(b).v + 1",
}


@dataclass(frozen=True, slots=True)
class Trial:
    """Queries over a stream of equal windows, each with `bursts` bursts of `length` events of B."""

    sharing: Sharing
    access: Access
    queries: int
    windows: int
    bursts: int = 1
    length: int = WINDOW
    differing: int = 0
    """Events of each burst on which queries differ."""
    unmatched: int = 0
    """Events of each burst that no query matches."""
    inputs: int = 1
    """Different prefixes."""

    @property
    def ticks(self) -> int:
        """Of a window."""
        return 1 + self.bursts * (self.inputs + self.length)

    def text(self) -> str:
        """Queries with a condition on B of their own, and `inputs` different prefixes."""
        lead = "A a, " if self.access is Access.TOTAL else ""
        return "\n".join(
            f"q{query}: RETURN COUNT(*) PATTERN SEQ({lead}P{query % self.inputs} p, B b+) "
            f"WHERE {_PAIRS[self.access]} AND b.v < {_SOME + 1 + query - self.queries // 2} WITHIN {self.ticks} s"
            for query in range(self.queries)
        )

    def table(self) -> pa.Table:
        """Windows of an A and the bursts of B, each behind one P of every kind."""
        names = ["A", *(f"P{one}" for one in range(self.inputs)), "B"]
        burst = [*range(1, 1 + self.inputs), *([1 + self.inputs] * self.length)]
        value = np.full(len(burst), _ALIKE)
        value[len(burst) - self.unmatched :] = _NOBODY
        value[self.inputs + (np.arange(self.differing) + 1) * self.length // (self.differing + 1)] = _SOME
        code = np.tile(np.array([0, *(burst * self.bursts)], np.int32), self.windows)
        keys = np.random.default_rng(7).integers(0, 1 << 62, len(code))
        return pa.table(
            {
                "time": np.arange(len(code)),
                "type": pa.DictionaryArray.from_arrays(pa.array(code), names),
                "v": np.tile(np.array([0, *(value.tolist() * self.bursts)]), self.windows),
                "x": np.where(code == 0, -1, keys),
            }
        )

    def prepared(self) -> Prepared:
        """Ready to be folded."""
        return prepare_bench(self.text(), self.table(), EventSchema(), sharing=self.sharing)


def _trials() -> dict[str, Trial]:
    both: dict[str, Trial] = {}
    for queries in (FEW, MANY):
        for length in (SHORT, LONG):
            both[f"total {queries} {length}"] = Trial(
                TOGETHER, Access.TOTAL, queries, 200, WINDOW // length, length
            )
        both[f"tree {queries}"] = Trial(TOGETHER, Access.TREE, queries, 16, length=LEAVES)
        both[f"scan {queries}"] = Trial(TOGETHER, Access.SCAN, queries, 32, length=OLDER)
    made = {f"{name}, together": one for name, one in both.items()}
    made |= {f"{name}, apart": replace(one, sharing=APART) for name, one in both.items()}
    for differing in (0, 1):
        made[f"differing {differing}"] = Trial(
            TOGETHER, Access.TOTAL, USED, 200, WINDOW // NEWER, NEWER, differing
        )
    for inputs in (2, MANY):
        for leaves in (SPARSE, DENSE):
            made[f"inputs {inputs} {leaves}"] = Trial(
                TOGETHER,
                Access.TREE,
                2 * MANY,
                40,
                length=leaves,
                unmatched=leaves - USED,
                inputs=inputs,
            )
    return made


TRIALS: Mapping[str, Trial] = _trials()


@dataclass(frozen=True, slots=True)
class Calibration:
    """Constants of this machine; `low` and `high` are the least and most that a fifth of the runs came to."""

    constants: Constants
    low: Constants
    high: Constants


def calibrate(progress: Callable[[int, int], None] | None = None) -> Calibration:
    """Measure; `progress` hears how many rounds are done, of how many. Half a minute, once kernels are compiled."""
    ready = {name: trial.prepared() for name, trial in TRIALS.items()}
    for one in ready.values():
        one.fold()  # compiles kernels, and makes programs
    rounds: list[dict[str, float]] = []
    batches = []
    for batch in range(BATCHES):
        for number in range(ROUNDS):
            rounds.append(_round(ready))
            if progress:
                progress(batch * ROUNDS + number + 1, BATCHES * ROUNDS)
        batches.append(constants_of(_shortest(rounds[batch * ROUNDS :])))
    found = constants_of(_shortest(rounds))
    batches.append(found)
    return Calibration(found, _of(batches, min), _of(batches, max))


def _shortest(rounds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: min(one[name] for one in rounds) for name in rounds[0]}


def _round(ready: Mapping[str, Prepared]) -> dict[str, float]:
    """Nanoseconds of a window of each trial, without what deciding took."""
    times = {}
    collects = gc.isenabled()
    gc.disable()
    try:
        for name, one in ready.items():
            begin = time.perf_counter()
            one.fold()
            passed = time.perf_counter() - begin - one.work().decision_seconds
            times[name] = passed * 1e9 / TRIALS[name].windows
    finally:
        if collects:
            gc.enable()
    return times


def _of(batches: Sequence[Constants], chosen: Callable[[Sequence[float]], float]) -> Constants:
    return Constants(*map(chosen, zip(*(one.values() for one in batches), strict=True)))


def constants_of(times: Mapping[str, float]) -> Constants:
    """The constants with which the measured cost model says the differences of these times; none is below 0.

    `times`: nanoseconds of a window of each of `TRIALS`.
    """
    more = MANY - FEW

    def gained(name: str) -> float:
        return times[f"{name}, together"] - times[f"{name}, apart"]

    def per_burst(queries: int, length: int) -> float:
        return gained(f"total {queries} {length}") * length / WINDOW

    short = (per_burst(MANY, SHORT) - per_burst(FEW, SHORT)) / more
    long = (per_burst(MANY, LONG) - per_burst(FEW, LONG)) / more
    total = (short - long) / (LONG - SHORT)
    product = short + SHORT * total
    apart = (1 - FEW) * total - (per_burst(FEW, LONG) - per_burst(FEW, SHORT)) / (LONG - SHORT)
    graphlet = per_burst(FEW, SHORT) - FEW * product - SHORT * ((1 - FEW) * total - apart)

    def step(kind: str, events: int) -> float:
        return ((gained(f"{kind} {FEW}") - gained(f"{kind} {MANY}")) / more + product) / events

    level = step("tree", LEAVES) / (1 + log2(1 + LEAVES))
    older = step("scan", OLDER) * 2 / OLDER
    differing = (times["differing 1"] - times["differing 0"]) * NEWER / WINDOW
    mixed = differing - NEWER * total - 3 * USED * product
    cleared = sum(
        sign * (times[f"inputs {MANY} {leaves}"] - times[f"inputs 2 {leaves}"])
        for sign, leaves in ((1, DENSE), (-1, SPARSE))
    )
    used = USED * level * (log2(1 + DENSE) - log2(1 + SPARSE))
    clear = (cleared / (MANY - 2) - used) / (DENSE - SPARSE)
    found = (total, level, older, product, clear, graphlet, apart, mixed)
    return Constants(*(max(one, 0.0) for one in found))
