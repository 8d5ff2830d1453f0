"""The ride-sharing stream: seeded, of exact size, with the grammar of a trip, bursts, ties, skew and NULLs."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import replace

import pytest

from hamlet_core.errors import StreamError
from hamlet_core.streams import STREAMS, RideSharing, generate, generate_stream, ridesharing

FIXED = {"Travel": 11731, "Request": 2576, "Pickup": 2313, "Dropoff": 2312, "Pool": 805, "Cancel": 263}
SUMS = {"driver": 8643328, "rider": 30164020, "duration": 1032740}
SMALL = RideSharing(events=5_000, seed=3, riders=200, drivers=50)


def trips(description: RideSharing) -> dict[tuple[int, int], list[dict[str, object]]]:
    """Events by driver and rider, in their order."""
    found: dict[tuple[int, int], list[dict[str, object]]] = defaultdict(list)
    for row in generate(description).to_pylist():
        found[row["driver"], row["rider"]].append(row)
    return found


def test_the_same_description_gives_the_same_events() -> None:
    assert generate(SMALL).equals(generate(replace(SMALL)))
    assert not generate(SMALL).equals(generate(replace(SMALL, seed=4)))


def test_the_shipped_stream_stays_what_it_is() -> None:
    table = generate(RideSharing(events=20_000))
    counted = Counter(table["type"].to_pylist())
    assert counted == FIXED
    totals = {name: sum(table[name].to_pylist()) for name in ("driver", "rider", "duration")}
    assert totals == SUMS


def test_a_large_stream_is_drawn_in_blocks_and_is_one_stream_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = generate(SMALL)
    monkeypatch.setattr(ridesharing, "BLOCK", 1_000)
    table = generate(SMALL)
    assert table.num_rows == 5_000
    assert table["time"].to_pylist() == sorted(table["time"].to_pylist())
    for name in ("type", "kind", "district"):
        blocked, plain = (Counter(each[name].to_pylist()) for each in (table, whole))
        assert blocked.keys() == plain.keys()
        assert all(abs(blocked[value] - plain[value]) < 150 + plain[value] / 3 for value in plain)
    hours = [Counter(at.hour for at in each["time"].to_pylist()) for each in (table, whole)]
    assert all(abs(hours[0][hour] - hours[1][hour]) < 120 for hour in range(24))
    wide = replace(SMALL, events=3_000, riders=10**9, tie_rate=0.0)
    begun = [[event["type"] for event in events] for events in trips(wide).values()]
    assert all(names[0] == "Request" for names in begun)
    assert sum(names[-1] not in ("Dropoff", "Cancel") for names in begun) <= 3


@pytest.mark.parametrize("events", [0, 1, 2, 3, 999])
def test_exact_size_sorted_by_time(events: int) -> None:
    times = generate(replace(SMALL, events=events))["time"].to_pylist()
    assert len(times) == events
    assert times == sorted(times)


def test_a_trip_follows_its_grammar() -> None:
    # Sessions of one pair do not mix when there are far more pairs than trips, and nothing ties.
    wide = replace(SMALL, riders=10**9, tie_rate=0.0, skew=0.0)
    whole = 0
    for events in trips(wide).values():
        names = [event["type"] for event in events]
        assert names[0] == "Request"
        if names[-1] not in ("Dropoff", "Cancel"):
            whole += 1  # Only the last trip is cut off.
            continue
        if names[-1] == "Cancel":
            assert names == ["Request", "Cancel"]
            continue
        assert names[1] == "Pickup"
        legs = " ".join(names[2:-1]).split("Pool")
        assert all(set(leg.split()) == {"Travel"} for leg in legs)
        assert all(1 <= len(leg.split()) <= wide.longest_burst for leg in legs)
        assert len(legs) == 1 or {event["kind"] for event in events} == {"Pool"}
    assert whole <= 1


def test_events_of_a_trip_that_tie_keep_their_order() -> None:
    tied = replace(SMALL, events=50_000, riders=10**9, tie_rate=0.9)
    for events in trips(tied).values():
        assert [event["type"] for event in events].index("Request") == 0
        assert "Dropoff" not in [event["type"] for event in events[:-1]]


def test_ties_nulls_and_crossings_follow_their_rates() -> None:
    description = replace(SMALL, events=20_000, tie_rate=0.2, null_rate=0.1, crossing_rate=0.3)
    rows = [row for events in trips(description).values() for row in events]
    travel = [row for row in rows if row["type"] == "Travel"]
    later = [row for row in rows if row["type"] != "Request"]
    assert 0.17 < sum(row["duration"] == 0 for row in later) / len(later) < 0.23
    for name in ("speed", "price"):
        assert 0.08 < sum(row[name] is None for row in travel) / len(travel) < 0.12
    assert all(row["speed"] == 0.0 for row in rows if row["type"] != "Travel")
    plain = trips(replace(description, crossing_rate=0.0, riders=10**9))
    assert all(len({row["district"] for row in events}) == 1 for events in plain.values())


def test_districts_are_skewed() -> None:
    counted = Counter(generate(replace(SMALL, skew=1.0))["district"].to_pylist())
    assert counted.most_common(1)[0][0] == "Centre"
    assert counted["Centre"] > 3 * counted["Station"] > 0


def test_a_day_of_events_takes_well_under_a_second() -> None:
    generate(SMALL)
    begin = time.process_time()
    table = generate(RideSharing())
    assert time.process_time() - begin < 1.0
    assert table.num_rows == 200_000


def test_descriptions_are_checked() -> None:
    for wrong in (
        {"events": -1},
        {"drivers": 0},
        {"tie_rate": 1.5},
        {"hours": 0.0},
        {"hours": 1e12},
        {"riders": 2**40},
    ):
        with pytest.raises(StreamError, match="E290"):
            replace(SMALL, **wrong)


def test_streams_by_name() -> None:
    assert "ridesharing" in STREAMS
    assert generate_stream("ridesharing", 100, 5).equals(generate(RideSharing(events=100, seed=5)))
    with pytest.raises(StreamError, match="ridesharing"):
        generate_stream("rides", 100, 5)
