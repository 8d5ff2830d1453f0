"""The compiled choice is that of `hamlet_core.sharing.decide`: every row of the log, over random streams."""

from collections import Counter
from math import isclose
from random import Random

import pyarrow as pa
import pytest

import hamlet_core
from hamlet_core import EventSchema
from hamlet_core.engines.hamlet.events import turns
from hamlet_core.sharing.burst import Access, Outcome
from hamlet_core.sharing.costs import Measured, Paper
from hamlet_core.sharing.reasons import Reason
from hamlet_core.windows import WindowSpec
from tests.properties.decided import PREFIXES, STEPS, SUFFIXES, Record, Row, Run, Setting, decided, groups_of

MODELS = {"paper": Paper(), "measured": Measured()}
WAYS = (
    ("dynamic", "paper", "guarded"),
    ("dynamic", "measured", "guarded"),
    ("dynamic", "paper", "paper"),
    ("dynamic", "measured", "paper"),
    ("always", "measured", "guarded"),
)
OUTCOMES = tuple(one.value for one in Outcome)


def drawn(random):
    """Queries that differ pairwise in prefix, predicate or aggregate, and a stream of (partition, row)."""
    step = random.choice((*STEPS, "", "<"))
    bounds = random.choice(((None, 5), (None, 3, 8), (2, 5, 8, None), (None, None, None, 5)))
    prefixes = random.choice(((*PREFIXES,), ("A+",), ("A", "A+"), ("", "C", "AC")))
    runs: dict[tuple, Run] = {}
    for number in range(random.randint(2, 7)):
        own = step if random.random() < 0.85 else random.choice((*STEPS,))
        prefix, below = random.choice(prefixes), random.choice(bounds)
        counted = random.choice((None, None, None, "b", *("a" for _ in range("A" in prefix))))
        suffix = random.choice((*SUFFIXES,))
        runs.setdefault((prefix, own, below, counted), Run(f"q{number}", prefix, suffix, own, below, counted))
    length, longest = random.choice((20, 60, 60, 150)), random.choice((1, 4, 12, 60))
    ties, parts, quiet = random.choice((0.0, 0.1, 0.5)), random.choice((1, 1, 2)), True
    time, rows = random.choice((0, 3, -25)), []
    while len(rows) < length:
        kind = random.choice("ACDNZBBBBB")
        if random.random() < 0.4:
            quiet = not quiet
        part = random.randrange(parts)
        for _ in range(random.randint(1, longest if kind == "B" else 2)):
            v = 1 if quiet else random.randrange(10)
            rows.append((part, Row(time, kind, v, random.randrange(6))))
            time += random.random() >= ties
    return tuple(runs.values()), rows[:length]


def compare(runs, rows, setting, cost_model):
    """(group, partition, expected log, log of the engine)"""
    within, slide = setting.window.within, setting.window.slide
    text = "\n".join(
        f"{run.text}{' AND' if ' WHERE ' in run.text else ' WHERE'} [p] WITHIN {within} s SLIDE {slide} s"
        for run in runs
    )
    table = pa.table(
        {"p": [part for part, _ in rows]}
        | {name: [getattr(row, name) for _, row in rows] for name in ("time", "type", "v", "x")}
    )
    log = hamlet_core.execute(
        *(text, table),
        schema=EventSchema(origin=setting.window.origin),
        policy=setting.policy,
        cost_model=cost_model,
        choice=setting.choice,
    ).decisions.to_pylist()
    read = {"B"}.union(*(run.types for run in runs), *({"N"} for run in runs if "N" in run.suffix))
    groups = groups_of(runs, setting)
    names = {", ".join(run.name for run in runs if run in group) for group in groups}
    assert {row["candidates"] for row in log if row["kleene"] == "B+"} <= names
    for group in groups:
        candidates = ", ".join(run.name for run in runs if run in group)
        for part in sorted({part for part, _ in rows}):
            own = [row for place, row in rows if place == part and row.type in read]
            here = [
                _record(row)
                for row in log
                if (row["kleene"], row["candidates"], row["partition"])
                == ("B+", candidates, f'{{"p":{part}}}')
            ]
            yield group, part, decided(group, runs, own, setting), here


def _record(row):
    sets = frozenset(frozenset(own.split(", ")) for own in row["queries"].split("; ") if own)
    return Record(
        *(row[name] for name in ("pane", "burst", "bursts", "events")),
        sets,
        *(row[name] for name in ("outcome", "reason", "snapshots_created", "snapshots_carried")),
        *(row[name] for name in ("cost_shared", "cost_alone")),
    )


def same(one, other):
    costs = ("shared", "alone")
    return all(
        isclose(getattr(one, name), getattr(other, name), rel_tol=1e-9)
        if name in costs
        else getattr(one, name) == getattr(other, name)
        for name in Record.__slots__
    )


def logs(seed):
    """(where, group, decisions of the reference, decisions of the run) of a random case, by group and partition."""
    random = Random(seed)
    runs, rows = drawn(random)
    policy, model, choice = way = WAYS[seed % len(WAYS)]
    within, slide = random.choice(((30, 30), (40, 10), (60, 20), (500, 500), (10, 15)))
    window = WindowSpec(within, slide, random.choice((0, 0, 7)))
    setting = Setting(window, policy, choice, MODELS[model])
    for group, part, expected, found in compare(runs, rows, setting, model):
        yield (seed, way, window, part, "\n".join(run.text for run in runs)), group, expected, found


def check(seeds):
    reached: Counter[str] = Counter()
    for seed in seeds:
        for where, group, expected, found in logs(seed):
            for one, other in zip(expected, found, strict=False):
                assert same(one, other), (where, one, other)
            assert len(expected) == len(found), where
            model = where[1][1]
            for one in expected:
                reached.update((one.outcome, one.reason, f"{STEPS[group[0].step][0].name}, {model}"))
                reached["two sets"] += len(one.sets) > 1
                reached["a part"] += 0 < len(frozenset().union(*one.sets)) < len(group)
                reached["differing"] += one.created > 1
    return reached


@pytest.mark.parametrize("way", range(len(WAYS)), ids=["-".join(way) for way in WAYS])
def test_every_row_of_the_log_is_what_decide_says(way):
    reached = check(range(way, 100 * len(WAYS), len(WAYS)))
    seen = OUTCOMES if WAYS[way][1] == "paper" else ("open", "continue")
    seen += tuple(f"{access.name}, {WAYS[way][1]}" for access in Access)
    assert {name: reached[name] for name in seen if not reached[name]} == {}


def test_what_is_asked_between_rests_is_what_decide_says(monkeypatch):
    """Trials of a window or two, so that groups rest most of the time: what they are asked then, and its answer, is as before."""
    monkeypatch.setattr(turns, "TRIAL", 6)
    asked = rested = 0
    for seed in (seed for seed in range(200) if WAYS[seed % len(WAYS)][:2] == ("dynamic", "measured")):
        for where, _, expected, found in logs(seed):
            for one in found:
                assert any(same(other, one) for other in expected), (where, one)
            asked += len(found)
            rested += sum(one.bursts for one in expected) - sum(one.bursts for one in found)
    assert min(asked, rested) > 100


@pytest.mark.slow
def test_every_row_of_five_thousand_logs_is_what_decide_says():
    reached = check(range(10**6, 10**6 + 5_000))
    seen = {one.value for one in Reason} - {Reason.NEVER.value, Reason.ONE.value}
    seen |= {"two sets", "a part", "differing", *OUTCOMES}
    assert {name: reached[name] for name in seen if reached[name] < 20} == {}
