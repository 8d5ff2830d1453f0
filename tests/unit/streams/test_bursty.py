"""The bursty stream and the 50 queries over it: sizes, shares and lengths are what the description says."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import hamlet_core
from hamlet_core.errors import StreamError
from hamlet_core.streams import Bursty, generate_stream, w50
from hamlet_core.streams.bursty import generate

PLAIN = Bursty(events=100_000, burst_length=50.0)


def runs(table: pa.Table) -> list[tuple[str, int]]:
    """Type and length of each burst."""
    codes = np.asarray(table["type"].combine_chunks().indices)
    names = table["type"].combine_chunks().dictionary.to_pylist()
    borders = np.flatnonzero(np.diff(codes, prepend=-1, append=-1))
    return [(names[codes[first]], int(end - first)) for first, end in pairwise(borders)]


def test_bursts_of_b_alternate_with_others_of_the_wanted_mean_length() -> None:
    found = runs(generate(PLAIN))
    assert {name == "B" for name, _ in found[::2]} == {False}
    assert {name for name, _ in found[1::2]} == {"B"}
    assert {name for name, _ in found} == {*(f"{side}{i}" for side in "PS" for i in range(10)), "B"}
    assert 45 < np.mean([length for _, length in found]) < 55


def test_bursts_can_all_have_one_length() -> None:
    assert [length for _, length in runs(generate(replace(PLAIN, events=1_020, fixed_bursts=True)))] == [
        50
    ] * 20 + [20]
    assert generate(replace(PLAIN, events=0, fixed_bursts=True)).num_rows == 0


@pytest.mark.parametrize("events", [0, 1, 2, 3, 999])
def test_exact_size_one_event_a_tick(events: int) -> None:
    table = generate(replace(PLAIN, events=events, burst_length=2.0, disturbed=False))
    assert table["time"].to_pylist() == list(range(events))
    assert generate(replace(PLAIN, events=events, disturbed=True)).num_rows == events


def test_ties_nulls_and_foreign_events_follow_their_rates() -> None:
    table = generate(replace(PLAIN, tie_rate=0.2, null_rate=0.1, foreign_rate=0.05))
    times = np.asarray(table["time"])
    assert 0.18 < np.mean(np.diff(times) == 0) < 0.22
    assert set(np.diff(times).tolist()) == {0, 1}
    assert 0.09 < table["v"].null_count / table.num_rows < 0.11
    assert 0.04 < table["type"].to_pylist().count("F") / table.num_rows < 0.06


def test_each_burst_can_be_disturbed() -> None:
    plain, disturbed = generate(PLAIN), generate(replace(PLAIN, disturbed=True))
    bursts = sum(length >= 3 for _, length in runs(plain))
    assert disturbed["type"].to_pylist().count("F") == bursts
    assert disturbed["v"].null_count == bursts
    assert int(np.sum(np.diff(np.asarray(disturbed["time"])) == 0)) == bursts


@pytest.mark.parametrize("share", [10, 50, 90])
def test_a_bound_on_v_selects_that_many_percent(share: int) -> None:
    values = np.asarray(generate(PLAIN)["v"])
    assert share - 2 < np.mean(values < share) * 100 < share + 2


def test_keys_belong_to_bursts_or_to_events() -> None:
    keyed = replace(PLAIN, groups=20)
    assert set(generate(keyed)["key"].to_pylist()) == set(range(20))
    changes = [
        int(np.sum(np.diff(np.asarray(generate(replace(keyed, bursts_per_key=bursts))["key"])) != 0))
        for bursts in (1, 6, 0)
    ]
    assert changes[1] * 4 < changes[0] < 2_500
    assert changes[2] > 90_000
    skewed = np.bincount(np.asarray(generate(replace(keyed, bursts_per_key=0, skew=1.0))["key"]))
    assert skewed[0] > 1.6 * skewed[1] > 0


def test_keys_can_take_turns() -> None:
    keys = np.asarray(generate(replace(PLAIN, groups=50, bursts_per_key=0, active=10))["key"])
    for turn, part in enumerate(np.split(keys, 5)):
        assert set(part.tolist()) == set(range(10 * turn, 10 * turn + 10))
    uneven = np.asarray(generate(replace(PLAIN, groups=7, bursts_per_key=0, active=3))["key"])
    assert set(uneven.tolist()) == set(range(7))


def test_equal_descriptions_give_equal_streams() -> None:
    whole = replace(PLAIN, tie_rate=0.1, null_rate=0.1, disturbed=True, groups=9, skew=0.5)
    assert generate(whole).equals(generate(replace(whole)))
    assert not generate(whole).equals(generate(replace(whole, seed=8)))
    assert generate_stream("bursty", 100, 5, groups=3).equals(generate(Bursty(events=100, seed=5, groups=3)))


def test_descriptions_are_checked() -> None:
    for wrong in ({"events": -1}, {"types": 0}, {"tie_rate": 1.5}, {"burst_length": 0.5}, {"skew": -1.0}):
        with pytest.raises(StreamError, match="E290"):
            replace(PLAIN, **wrong)


def test_fifty_queries_five_of_each_prefix_differ() -> None:
    lines = w50().splitlines()
    bodies = [line.split(": ")[1] for line in lines]
    assert len(set(bodies[1::2])) == 25
    assert all(sum(f"P{i} p" in body for body in bodies) == 5 for i in range(10))
    assert ["S" in body.split("b+")[1].split("W")[0] for body in bodies] == [False, True] * 25
    bounds = [line.split("b.v < ")[1].split()[0] for line in w50(local=True).splitlines()]
    assert len(set(bounds)) == 50
    assert {min(map(int, bounds)), max(map(int, bounds))} == {10, 90}


@pytest.mark.parametrize(
    "knobs",
    [{}, {"local": True, "slide": 500}, {"adjacent": True, "within": 500}, {"equivalence": True}],
    ids=str,
)
def test_the_fifty_queries_have_results(knobs: dict[str, object]) -> None:
    table = generate(Bursty(events=2_500, burst_length=5.0, groups=2, bursts_per_key=8, disturbed=True))
    results = hamlet_core.run(w50(**knobs), table, engine="greta")
    assert len(set(results["query"].to_pylist())) == 50
