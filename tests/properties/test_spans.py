"""hamlet == greta however many lanes the windows that overlap have, and whichever end apart in one fold."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import hamlet_core
from hamlet_core.engines.hamlet.events import fold
from hamlet_core.engines.hamlet.events.spans import APART
from hamlet_core.engines.hamlet.events.turns import Turns
from hamlet_core.engines.hamlet.passes import ClassPasses
from hamlet_core.language.syntax import Duration, Workload
from tests.properties import agreement, bursty, comparison, generation
from tests.properties.constructs import constructs

LANES = (1, 2, 3, 7, 64)


@contextmanager
def forced(lanes: int) -> Iterator[list[tuple[int, int]]]:
    """So many lanes where there may be any, and one fold for all that begins together; lanes and specifications of the folds."""
    found: list[tuple[int, int]] = []

    def lanes_of(builder, pairs, windows, layout, *rest):
        ambiguous = any(one.analysed.ambiguous for one in builder.accumulators)
        found.append((APART if ambiguous else lanes, len(layout.rows)))
        return APART if ambiguous else lanes

    def serves_all(self, family, chosen):
        return not any(accumulator.analysed.ambiguous for accumulator in chosen)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold, "lanes_of", lanes_of)
        patch.setattr(ClassPasses, "_serves_all", serves_all)
        yield found


def sliding(random: Random) -> generation.Case:
    """A few queries whose windows begin together, most of them overlapping, some ending apart."""
    asked = [generation.query(random, f"q{number}") for number in range(random.randint(1, 2))]
    slide = random.choice((1, 1, 2, 3, 5))
    queries = tuple(
        replace(
            query,
            name=f"{query.name}_{within}",
            within=Duration(within * generation.SECOND),
            slide=Duration(slide * generation.SECOND),
        )
        for query in asked
        for within in random.sample((1, 2, 4, 5, 8, 12, 20), random.randint(1, 3))
    )
    return generation.case_of(random, queries)


def check(seeds) -> Counter[str]:
    """Compare the workloads of these seeds; what was reached how often."""
    reached: Counter[str] = Counter()
    for seed in seeds:
        random = Random(seed)
        case, lanes = sliding(random), LANES[seed % len(LANES)]
        with forced(lanes) as told:
            for policy in ("dynamic", "never")[: 1 + seed % 2]:
                wrong, _ = agreement.compare(
                    Workload(case.workload.queries), comparison.table(case), comparison.SCHEMA, policy=policy
                )
                assert wrong == [], (seed, lanes, policy, case)
        used = {lanes for lanes, _ in told} - {APART}
        reached["cases"] += bool(told)
        reached["lanes"] += bool(used)
        reached["several specifications"] += any(specs > 1 for lanes, specs in told if lanes != APART)
        if used:
            reached.update(name for query in case.workload.queries for name in constructs(query))
    return reached


def test_lanes_change_no_answer():
    reached = check(range(160))
    assert reached["lanes"] > 40
    assert reached["several specifications"] > 20


@contextmanager
def resting(lanes: int, random: Random) -> Iterator[Counter[str]]:
    """Groups of windows that are folded apart are tried, and rest at random; while all do, windows have so many lanes."""
    reached: Counter[str] = Counter()
    real, piece = Turns.__iter__, fold._Task.piece

    def lanes_of(builder, pairs, windows, layout, price, constants, *saved):
        ambiguous = any(one.analysed.ambiguous for one in builder.accumulators)
        return APART if saved or ambiguous else lanes

    def at_random(self):
        groups, last = frozenset(range(len(self.gain))), len(self.done)
        if not self.rests or last == 0:
            yield from real(self)
            return
        cuts = sorted({0, last, *(random.randint(0, last) for _ in range(3))})
        for first, end in pairwise(cuts):
            yield first, end, random.choice((frozenset(), groups, frozenset(list(groups)[:1])))

    def told(self, first, end, asked):
        found = piece(self, first, end, asked)
        reached["in lanes"] += found.spans is not self.spans and self.chosen.lanes_at_rest > 1
        reached["groups"] += bool(found.program.groups)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold, "lanes_of", lanes_of)
        patch.setattr(fold, "saved_by", lambda *_: 0.0)
        patch.setattr(fold, "most_gained", lambda *_: 1e9)
        patch.setattr(fold._Task, "piece", told)
        patch.setattr(Turns, "__iter__", at_random)
        yield reached


def check_rests(seeds) -> Counter[str]:
    """Compare workloads that share, in windows that overlap, whose groups rest at random."""
    reached: Counter[str] = Counter()
    for seed in seeds:
        random = Random(seed)
        case = bursty.task(random)
        with resting(LANES[seed % len(LANES)], random) as found:
            wrong, _ = agreement.compare(case.workload, case.table(), case.schema)
        assert wrong == [], (seed, case)
        reached["cases in lanes"] += bool(found["in lanes"])
        reached["cases of both"] += bool(found["in lanes"] and found["groups"])
    return reached


def test_lanes_while_groups_rest_change_no_answer():
    reached = check_rests(range(120))
    assert reached["cases of both"] > 15


def test_numbers_beyond_doubles_in_lanes_at_rest_are_those_of_their_windows(monkeypatch):
    """Windows of the second half of a stream leave the range of doubles, while groups are tried, and while they rest."""
    times = np.arange(6_000)
    often = (times % 3 == 0) | (times > 3_000)
    events = pa.table(
        {
            "time": times,
            "type": np.where(times % 97 == 0, "A", np.where(times % 89 == 0, "C", np.where(often, "B", "D"))),
            "v": times,
        }
    )
    text = "\n".join(
        f"q{kind}: RETURN COUNT(*) PATTERN SEQ({kind} p, B b+) WHERE b.v < NEXT(b).v WITHIN 1400 s SLIDE 200 s"
        for kind in "ACD"
    )
    truth = hamlet_core.run(text, events, engine="greta")
    monkeypatch.setattr(fold, "lanes_of", lambda *asked: APART if any(asked[6:]) else 3)
    monkeypatch.setattr(fold, "saved_by", lambda *_: 0.0)
    monkeypatch.setattr(fold, "most_gained", lambda *_: 1e9)

    def by_turns(self):
        last = len(self.done)
        for first in range(0, last, 4):
            resting = range(len(self.gain)) if first % 8 else ()
            yield first, min(first + 4, last), frozenset(resting)

    monkeypatch.setattr(Turns, "__iter__", by_turns)
    found = hamlet_core.run(text, events)
    assert found.drop_columns(["value", "log2"]).equals(truth.drop_columns(["value", "log2"]))
    assert found["log2"].to_pylist() == pytest.approx(truth["log2"].to_pylist(), rel=1e-12)
    over = [one > 1_024 for one in truth["log2"].to_pylist()]
    assert any(over)
    assert not all(over)


@pytest.mark.slow
def test_lanes_change_no_answer_of_ten_thousand_workloads():
    reached = check(range(10**6, 10**6 + 10_000))
    assert reached["lanes"] > 3_000
    assert reached["several specifications"] > 1_500


@pytest.mark.slow
def test_lanes_while_groups_rest_change_no_answer_of_ten_thousand_workloads():
    reached = check_rests(range(10**6, 10**6 + 10_000))
    assert reached["cases of both"] > 1_500
