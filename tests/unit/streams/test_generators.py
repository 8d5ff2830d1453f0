"""The streams of the papers: equal for equal descriptions, sorted, and with the rates and shares that their knobs say."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hamlet_core.errors import StreamError
from hamlet_core.streams import STREAMS, LinearRoad, Stock, generate_stream
from hamlet_core.streams.drawing import late_order

PAPERS = ("ecommerce", "linear_road", "smart_home", "stock", "taxi")
EVENTS = 40_000
GROUP = {
    "stock": "open_level",
    "smart_home": "house",
    "taxi": "vendor",
    "linear_road": "xway",
    "ecommerce": "customer",
}
MEASURED = {
    "stock": "vol",
    "smart_home": "value",
    "taxi": "distance",
    "linear_road": "speed",
    "ecommerce": "discount",
}
UNIFORM = {
    "stock": ("vol", 0, 200),
    "smart_home": ("value", 0, 100),
    "taxi": ("minutes", 1, 101),
    "linear_road": ("speed", 0, 100),
    "ecommerce": ("discount", 0, 100),
}


def described(name: str, **knobs: Any) -> pa.Table:
    kind = STREAMS[name]
    return kind.generate(kind.description(**({"events": EVENTS, "seed": 3} | knobs)))


def microseconds(table: pa.Table) -> Any:
    return np.array(table["time"].cast(pa.int64()))


def bursts(table: pa.Table) -> list[int]:
    codes = np.asarray(table["type"].combine_chunks().indices)
    return [
        int(end - first) for first, end in pairwise(np.flatnonzero(np.diff(codes, prepend=-1, append=-1)))
    ]


@pytest.mark.parametrize("name", PAPERS)
class TestEach:
    def test_the_same_description_gives_the_same_events(self, name: str) -> None:
        table = described(name)
        assert table.equals(described(name))
        assert not table.equals(described(name, seed=4))
        assert table.equals(generate_stream(name, EVENTS, 3))

    @pytest.mark.parametrize("events", [0, 1, 2, 999])
    def test_exact_size_sorted_by_time(self, name: str, events: int) -> None:
        table = described(name, events=events)
        assert table.num_rows == events
        assert bool(np.all(np.diff(microseconds(table)) >= 0))
        table.validate(full=True)

    def test_names_are_dictionaries(self, name: str) -> None:
        table = described(name)
        assert table.schema.field("type").type == pa.dictionary(pa.int32(), pa.string())
        assert not any(pa.types.is_string(field.type) for field in table.schema)

    def test_the_rate_of_events(self, name: str) -> None:
        for tie_rate in (0.0, 0.5):
            times = microseconds(described(name, rate=6_000.0, tie_rate=tie_rate))
            assert 0.95 < EVENTS / 100 / ((times[-1] - times[0]) / 1e6) < 1.05

    def test_ties_follow_their_rate(self, name: str) -> None:
        steps = np.diff(microseconds(described(name, tie_rate=0.2, rate=6_000.0)))
        assert 0.18 < np.mean(steps == 0) < 0.22

    def test_bursts_have_the_wanted_mean_length(self, name: str) -> None:
        found = bursts(described(name, burst_length=10.0))
        assert 9 < np.mean(found) < 11
        assert max(found) > 30
        assert set(bursts(described(name, burst_length=1.0))) == {1}
        assert set(bursts(described(name, burst_length=8.0, fixed_bursts=True))) == {8}

    def test_types(self, name: str) -> None:
        names = Counter(described(name, types=12, type_skew=0.0, burst_length=5.0)["type"].to_pylist())
        assert len(names) == 12
        assert max(names.values()) < 1.5 * min(names.values())
        assert len(set(described(name, types=1)["type"].to_pylist())) == 1
        skewed = Counter(described(name, types=12, type_skew=1.0, burst_length=5.0)["type"].to_pylist())
        assert skewed.most_common()[0][1] > 3 * skewed.most_common()[-1][1]

    def test_groups_are_skewed(self, name: str) -> None:
        shares = {}
        for skew in (0.0, 1.0):
            counted = Counter(described(name, groups=8, skew=skew, rate=30_000.0)[GROUP[name]].to_pylist())
            assert len(counted) == 8
            shares[skew] = max(counted.values()) / min(counted.values())
        assert shares[0.0] < 1.5
        assert 6 < shares[1.0] < 10

    def test_nulls_follow_their_rate(self, name: str) -> None:
        table = described(name, null_rate=0.1)
        assert 0.08 < table[MEASURED[name]].null_count / EVENTS < 0.12
        assert sum(described(name, null_rate=0.0)[column].null_count for column in table.schema.names) == 0

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
    def test_a_bound_selects_a_known_share(self, name: str, share: float) -> None:
        attribute, least, bound = UNIFORM[name]
        values = described(name, null_rate=0.0)[attribute]
        selected = pc.mean(pc.less(values, least + share * (bound - least)).cast(pa.float64())).as_py()
        assert share - 0.02 < selected < share + 0.02

    def test_naive_starts_are_utc(self, name: str) -> None:
        start = datetime(2020, 2, 3)  # noqa: DTZ001 - the very point
        first = described(name, start=start, events=10)["time"][0].as_py()
        assert timedelta(0) <= first - start.replace(tzinfo=UTC) < timedelta(seconds=1)

    @pytest.mark.parametrize(
        "wrong",
        [
            *(
                {"events": -1},
                {"seed": -1},
                {"types": 0},
                {"tie_rate": 1.5},
                {"null_rate": -0.1},
                {"skew": -1.0},
            ),
            *(
                {"burst_length": 0.5},
                {"rate": 0.0},
                {"rate": 1e-9},
                {"groups": 0},
                {"type_skew": float("nan")},
            ),
        ],
        ids=str,
    )
    def test_descriptions_are_checked(self, name: str, wrong: dict[str, float]) -> None:
        with pytest.raises(StreamError, match="E290"):
            described(name, **wrong)


def test_prices_of_a_tick_are_ordered_and_walk_within_a_burst() -> None:
    table = described("stock", types=3)
    open_, high, low, close = (np.asarray(table[name]) for name in ("open", "high", "low", "close"))
    assert bool(np.all((low <= np.minimum(open_, close)) & (high >= np.maximum(open_, close))))
    inside = np.diff(np.asarray(table["type"].combine_chunks().indices)) == 0
    assert bool(np.allclose(open_[1:][inside], close[:-1][inside]))


def test_each_car_reports_every_thirty_seconds_at_a_constant_rate() -> None:
    table = described("linear_road", growth=1.0, rate=6_000.0, tie_rate=0.0)
    times, cars = microseconds(table), np.asarray(table["vid"])
    assert set(cars.tolist()) == set(range(3_000))
    one = np.diff(times[cars == 17]) / 1e6
    assert bool(np.all((one > 28) & (one < 32)))


def test_reports_of_linear_road_grow_more_frequent() -> None:
    times = microseconds(described("linear_road", growth=50.0))
    times = times - times[0]
    tenth = times[-1] / 10
    early, late = np.sum(times < tenth), np.sum(times > 9 * tenth)
    assert late > 10 * early > 0
    assert LinearRoad(growth=1.0).growth == 1.0
    with pytest.raises(StreamError, match="E290"):
        replace(LinearRoad(), growth=0.5)


@pytest.mark.parametrize("name", [*PAPERS, "bursty", "clickstream", "ridesharing"])
def test_late_rows_keep_their_time_and_stand_too_late(name: str) -> None:
    table, late = generate_stream(name, 5_000, 3), generate_stream(name, 5_000, 3, late_rate=0.1)
    assert late.equals(generate_stream(name, 5_000, 3, late_rate=0.1))
    assert not late.equals(table)
    assert Counter(map(str, late.to_pylist())) == Counter(map(str, table.to_pylist()))


def test_late_rows_are_as_many_as_wanted_and_the_others_keep_their_order() -> None:
    order = late_order(20_000, 0.05, 3, furthest=100)
    assert sorted(order.tolist()) == list(range(20_000))
    behind = np.maximum.accumulate(order) > order
    assert 0.04 < np.mean(behind) < 0.06
    assert bool(np.all(np.diff(order[~behind]) > 0))
    moved = np.arange(20_000) - order
    assert moved.max() <= 100
    assert late_order(100, 0.0, 3).tolist() == list(range(100))


def test_knobs_are_checked_by_name_and_class() -> None:
    for wrong in ({"colour": 3}, {"types": 2.5}, {"types": True}, {"start": 5}, {"rate": "fast"}):
        with pytest.raises(StreamError, match="E290"):
            generate_stream("stock", 10, 7, **wrong)
    with pytest.raises(StreamError, match=r"has no rate(.|\n)*groups"):
        generate_stream("ridesharing", 10, 7, rate=5.0)
    assert generate_stream("ridesharing", 500, 7, groups=2).equals(
        generate_stream("ridesharing", 500, 7, districts=2)
    )
    assert generate_stream("stock", 10, 7, rate=100).equals(
        STREAMS["stock"].generate(Stock(events=10, rate=100.0))
    )
