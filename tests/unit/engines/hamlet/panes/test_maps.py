"""Pane maps against lanes per window: the same totals for every sliding window, whatever is folded how."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from hamlet_core import EventSchema, parse
from hamlet_core.bench.kernels import prepare_bench
from hamlet_core.engines.hamlet.accumulators import UNIT_WEIGHT, Accumulator, AttributeSum
from hamlet_core.engines.hamlet.panes import choice, sliding
from hamlet_core.engines.hamlet.panes.maps import bases_of, has_map, outline
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.results.totals import Extremes
from hamlet_core.sharing.options import Sharing

TYPES = "ABCDEF"
NEGATED = (
    "SEQ({}, NOT X x, Y y)",
    "SEQ({}, NOT X x)",
    "SEQ(NOT X x, {})",
    "SEQ(NOT Y y, {}, NOT X x)",
    "SEQ(Y y, NOT X x, {})+",
    "SEQ({}, NOT (X x OR Y y), X z+)",
    "SEQ({}, NOT SEQ(X x, Y y), Y z)",
)
SPANS = ((6, 2), (6, 4), (12, 1), (9, 6), (40, 2), (7, 3), (5, 5), (3, 7))


def pattern(random: Random, types: list[str]) -> str:
    """Any nesting of SEQ, OR and + over these types, each of them once."""
    if len(types) == 1:
        name = types[0]
        return f"{name} {name.lower()}{random.choice(('', '+', '+'))}"
    cut = random.randrange(1, len(types))
    left, right = pattern(random, types[:cut]), pattern(random, types[cut:])
    if random.random() < 0.3:
        return f"({left} OR {right})" + random.choice(("", "+"))
    return f"SEQ({left}, {right})" + random.choice(("", "", "+"))


def query(random: Random, number: int) -> str:
    types = random.sample(TYPES, random.randint(1, 4))
    body = pattern(random, types)
    alias = random.choice(types).lower()
    aggregates = ["COUNT(*)", f"COUNT({alias})"]
    aggregates += [f"{name}({random.choice(types).lower()}.v)" for name in ("SUM", "AVG", "MIN", "MAX")]
    asked = random.sample(aggregates, random.randint(1, 4))
    conditions = []
    if random.random() < 0.4:
        conditions.append(f"{random.choice(types).lower()}.v < 70")
    if random.random() < 0.6:
        conditions.append("[k]")
    if random.random() < 0.3:
        body = random.choice(NEGATED).format(body)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    group = " GROUP-BY g" if random.random() < 0.4 else ""
    within, slide = random.choice(SPANS)
    text = f"q{number}: RETURN {', '.join(asked)} PATTERN {body}{where}{group}"
    return f"{text} WITHIN {within} s SLIDE {slide} s"


def events(random: Random, count: int, *, negative: bool) -> pa.Table:
    time, name, rows = 0, "A", []
    for _ in range(count):
        time += random.choice((0, 0, 1, 1, 1, 2, 2, 30 if random.random() < 0.1 else 1))
        name = name if random.random() < 0.6 else random.choice(TYPES + "XY")
        value = None if random.random() < 0.1 else random.randrange(100) - 50 * negative
        rows.append((time, name, value, random.randrange(2), random.choice("uvw")))
    columns = zip(*rows, strict=True)
    types = (pa.int64(), pa.string(), pa.int64(), pa.int64(), pa.string())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    return pa.table(arrays, names=["time", "type", "v", "k", "g"])


def folded(text: str, table: pa.Table, arithmetic: str, windows: str, **force: bool) -> dict:
    """Numbers by (query, group, window start, part)."""
    found = {}
    for one in prepare_bench(
        text, table, EventSchema(), arithmetic=arithmetic, windows=windows, **force
    ).fold():
        for part, numbers in enumerate((one.trends, *one.parts)):
            for row, (start, group) in enumerate(
                zip(one.window_start.tolist(), one.group.tolist(), strict=True)
            ):
                found[one.name, one.groups[group], start, part] = _shown(numbers, row, arithmetic)
    return found


def _shown(numbers, row, arithmetic):
    if isinstance(numbers, Extremes):
        return numbers.values[row].as_py()
    if arithmetic == "exact":
        return numbers.digits[row]
    if arithmetic == "modular":
        return int(numbers.residue[row])
    return float(numbers.mantissa[row] * 2.0 ** numbers.exponent[row])


@pytest.mark.parametrize("arithmetic", ["scaled", "modular", "exact"])
@pytest.mark.parametrize("seed", range(30))
def test_pane_maps_give_what_lanes_give(arithmetic, seed):
    random = Random(seed)
    text = "\n".join(query(random, number) for number in range(random.randint(1, 4)))
    table = events(random, random.choice((3, 30, 120)), negative=arithmetic != "scaled")
    force = {"closed_form": seed % 3 > 0}
    lanes = folded(text, table, arithmetic, "lanes", **force)
    panes = folded(text, table, arithmetic, "panes", **force)
    if arithmetic == "scaled":
        lanes = {key: value and pytest.approx(value, rel=1e-12, abs=0.0) for key, value in lanes.items()}
    assert panes == lanes, text
    assert folded(text, table, arithmetic, "auto", **force).keys() == lanes.keys()


def test_panes_fold_what_has_maps_and_only_that(monkeypatch):
    done = []
    fold = sliding.fold_panes
    monkeypatch.setattr(
        sliding, "fold_panes", lambda plan, *more, **force: done.append(plan) or fold(plan, *more, **force)
    )
    text = (
        "s: RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 6 s SLIDE 2 s\n"
        "t: RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 6 s SLIDE 6 s\n"
        "n: RETURN COUNT(*) PATTERN SEQ(A a, NOT X x, B b+) WITHIN 6 s SLIDE 2 s\n"
        "m: RETURN COUNT(*) PATTERN SEQ(A a, NOT SEQ(X x, Y y), B b+) WITHIN 6 s SLIDE 2 s\n"
        "b: RETURN COUNT(*) PATTERN (A a+ AND B b+) WITHIN 6 s SLIDE 2 s\n"
    )
    table = events(Random(1), 200, negative=False)
    panes = folded(text, table, "exact", "panes")
    assert [len(plan.results) for plan in done] == [2, 2]  # scaled numbers, then residues
    assert panes == folded(text, table, "exact", "lanes")


def _accumulator(body: str, *attribute_sums: AttributeSum) -> Accumulator:
    (analysed,) = analyse_workload(parse(f"RETURN COUNT(*) PATTERN {body} WITHIN 2 s SLIDE 1 s"))
    return Accumulator(0, analysed, attribute_sums)


def test_a_map_has_a_row_per_inlet_and_leaves_out_what_no_path_leads_to():
    accumulator = _accumulator("SEQ(A a, B b+, C c)", AttributeSum("c", UNIT_WEIGHT))
    found = outline(accumulator)
    assert has_map(accumulator)
    assert found.starts == (True, False, False)
    assert [own[:2] for own in found.bases] == [((0,), (0, 1, 2)), ((1,), (1, 2)), ((2,), (2,))]
    assert [entry for entry, _ in found.entries] == [
        (0, -1, 0), (0, -1, 1), (0, 1, 0), (0, 2, 0), (1, -1, 0), (1, -1, 1), (1, 1, 0), (1, 2, 0), (2, -1, 0), (2, -1, 1),
    ]  # fmt: skip
    assert [basis.elements for basis in bases_of(accumulator)] == [3, 2, 1]


def test_positions_that_the_same_may_precede_share_an_inlet():
    found = outline(_accumulator("(A a OR B b)+"))
    assert [own[:2] for own in found.bases] == [((0, 1), (0, 1))]
    assert [entry for entry, _ in found.entries] == [(0, -1, 0), (0, 0, 0)]


def _chosen(text: str, table: pa.Table) -> bool:
    prepared = prepare_bench(text, table, EventSchema())
    prepared.fold()
    return any(passes.sliding.plans for _, passes in prepared.classes)


def test_pane_maps_are_chosen_where_bursts_outnumber_panes():
    name = np.tile(np.array(["A", "B"]), 5000)
    table = pa.table({"time": np.arange(10_000), "type": name})
    pattern_of = "RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN {} s SLIDE {} s"
    assert _chosen(pattern_of.format(5000, 100), table)
    assert not _chosen(pattern_of.format(4, 2), table)
    assert not _chosen(pattern_of.format(5000, 5000), table)


PATTERNS = "SEQ(A a, B b+)", "SEQ(A a, B b+, C c)", "B b+", "SEQ(B b+, C c)", "(A a OR B b)+"


def test_who_shares_lanes_is_asked_only_where_it_decides(monkeypatch):
    """What is chosen is what costs less with shared lanes, also where the choice was made without looking at them."""
    asked, chosen = [], []
    choose = sliding.panes_cost_less

    def beside_all_costs(accumulators, found, borders, windows, slots, prices, *, alone, equal):
        looked = []
        less = choose(
            accumulators, found, borders, windows, slots, prices, alone=alone,
            equal=lambda own: looked.append(own) or equal(own),
        )  # fmt: skip
        joined = borders * choice.join_cost([outline(one) for one in accumulators], prices)
        joined += 0.0 if alone else sum(found.of(name, borders) for name in found.share) * choice.BURST
        bases = [basis for one in accumulators for basis in bases_of(one)]
        rows, lanes = choice._Lanes.of(bases, 1, equal), choice._Lanes.of(accumulators, slots, equal)
        begun = windows * lanes.numbers * prices.window
        by_panes = joined + rows.cost(found, borders, prices)
        assert less == (by_panes < lanes.cost(found, borders, prices) + begun)
        asked.append(bool(looked))
        chosen.append(less)
        return less

    monkeypatch.setattr(sliding, "panes_cost_less", beside_all_costs)
    for seed in range(60):
        random = Random(seed)
        name = np.repeat(np.tile(np.array(["A", "B", "C"]), 400), random.choice((1, 2, 10)))
        slide = random.choice((2, 10, 100))
        within = slide * random.choice((2, 5, 20))
        text = "\n".join(
            f"RETURN COUNT(*) PATTERN {random.choice(PATTERNS)} WITHIN {within} s SLIDE {slide} s"
            for _ in range(random.randint(1, 8))
        )
        table = pa.table({"time": np.arange(len(name)), "type": name})
        prepare_bench(text, table, EventSchema(), sharing=Sharing("dynamic")).fold()
    assert set(zip(asked, chosen, strict=True)) == {(False, False), (True, False), (True, True)}
