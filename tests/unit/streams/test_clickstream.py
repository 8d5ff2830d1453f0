"""The clickstream: seeded, of exact size, with the grammar of a session, and with the shares that its knobs say."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

import hamlet_core
from hamlet_core.errors import StreamError
from hamlet_core.streams import Clickstream, clickstream, generate_stream, generate_workload
from hamlet_core.streams.clickstream import generate

SMALL = Clickstream(events=5_000, seed=3, users=300)
STEADY = replace(SMALL, events=20_000, tie_rate=0.0)
FIXED = {
    "View": 11819, "Search": 2776, "Cart": 1900, "Login": 1104, "Logout": 808, "Checkout": 555, "Purchase": 490,
    "PaymentFailed": 217, "Error": 194, "Restart": 88, "Help": 49,
}  # fmt: skip
SUMS = {"user": 171762216, "latency_ms": 2998705, "status": 4102483}
SIGNS = {
    "Login": "I", "Search": "s", "View": "v", "Cart": "c", "Checkout": "k", "PaymentFailed": "f", "Purchase": "p",
    "Help": "h", "Error": "e", "Restart": "r", "Logout": "O",
}  # fmt: skip
GRAMMAR = re.compile(r"I?[sv]+(c(vc)*(kf*p?)?)?O?")


def sessions(description: Clickstream) -> list[list[dict[str, Any]]]:
    """Events of each session, in their order."""
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in generate(description).to_pylist():
        found[row["session"]].append(row)
    return list(found.values())


def written(events: list[dict[str, Any]]) -> str:
    return "".join(SIGNS[event["type"]] for event in events)


def share(texts: list[str], part: str, of: str = "") -> float:
    """Of the sessions with `of`, those that have `part`."""
    asked = [text for text in texts if of in text]
    return sum(part in text for text in asked) / len(asked)


def test_the_same_description_gives_the_same_events() -> None:
    assert generate(SMALL).equals(generate(replace(SMALL)))
    assert not generate(SMALL).equals(generate(replace(SMALL, seed=4)))
    assert generate(SMALL).equals(generate_stream("clickstream", 5_000, 3, users=300))
    assert generate_stream("clickstream", 500, 7, groups=2).equals(
        generate(Clickstream(events=500, countries=2))
    )


def test_the_shipped_stream_stays_what_it_is() -> None:
    table = generate(Clickstream(events=20_000))
    assert Counter(table["type"].to_pylist()) == FIXED
    assert {name: sum(table[name].to_pylist()) for name in SUMS} == SUMS


@pytest.mark.parametrize("events", [0, 1, 2, 3, 999])
def test_exact_size_sorted_by_time(events: int) -> None:
    table = generate(replace(SMALL, events=events))
    table.validate(full=True)
    times = table["time"].to_pylist()
    assert len(times) == events
    assert times == sorted(times)


def test_a_session_follows_its_grammar() -> None:
    found = sessions(STEADY)
    whole = [
        text for text in map(written, found) if GRAMMAR.fullmatch(re.sub("fh", "f", re.sub("er?", "", text)))
    ]
    assert len(found) - len(whole) <= 1  # Only the last session is cut off, and may still fit.
    assert not any(re.search("Oe|he|[^f]h", text) for text in whole)
    assert {sign for text in whole for sign in text} == set(SIGNS.values())
    assert max(text.count("f") for text in whole) > 2


def test_a_user_has_one_country_and_device_and_a_session_one_user_and_campaign() -> None:
    rows = [event for events in sessions(STEADY) for event in events]
    assert len({row["user"] for row in rows}) > 250
    assert {row["user"] for row in rows} <= set(range(1, 301))
    for key, names in (("user", ("country", "device")), ("session", ("user", "campaign"))):
        for name in names:
            pairs = {(row[key], row[name]) for row in rows}
            assert len(pairs) == len({row[key] for row in rows}), (key, name)
            assert len({value for _, value in pairs}) > 2
    per_user = Counter(user for _, user in {(row["session"], row["user"]) for row in rows})
    assert max(per_user.values()) > 5


def test_amounts_latencies_and_statuses() -> None:
    failed = []
    for events in sessions(replace(STEADY, repeat_rate=0.9, give_up_rate=0.1)):
        carts = [event["amount"] for event in events if event["type"] == "Cart"]
        for event in events:
            match event["type"]:
                case "View" | "Cart":
                    assert event["amount"] is None or 5 <= event["amount"] < 205
                    assert event["amount"] is not None or event["type"] == "View"
                case "Checkout" | "PaymentFailed" | "Purchase":
                    assert event["amount"] == pytest.approx(sum(carts))
                case _:
                    assert event["amount"] is None
            wanted = {"PaymentFailed": (402,), "Error": (500, 502, 503, 504)}.get(event["type"], (200,))
            assert event["status"] in wanted
            assert event["latency_ms"] >= 1
        failed += pairwise(event["latency_ms"] for event in events if event["type"] == "PaymentFailed")
    assert len(failed) > 100
    assert 0.75 < sum(one < after for one, after in failed) / len(failed) < 0.95


def test_users_leave_at_each_step_as_the_rates_say() -> None:
    texts = [*map(written, sessions(replace(STEADY, events=60_000, countries=1, failure_rate=0.4)))]
    assert 0.38 < share(texts, "c") < 0.42
    assert 0.43 < share(texts, "k", "c") < 0.57
    assert 0.36 < share(texts, "f", "k") < 0.44
    # After a failure a payment fails (1 - 0.25) * 0.5 times; of those that it is the last of, 0.25 / 0.625 give up.
    assert 0.56 < share(texts, "p", "f") < 0.64
    assert share([text for text in texts if "f" not in text], "p", "k") > 0.99
    pages = [len(re.findall("[sv]", text.partition("c")[0])) for text in texts]
    assert 4.7 < sum(pages) / len(pages) < 5.3
    assert 0.007 < sum(text.count("e") for text in texts) / sum(map(len, texts)) < 0.013


@pytest.mark.parametrize(
    ("knobs", "part", "of", "wanted"),
    [
        ({"cart_rate": 0.0}, "c", "", 0.0),
        ({"checkout_rate": 1.0, "cart_rate": 1.0}, "k", "", 0.9),
        ({"failure_rate": 1.0}, "f", "k", 1.0),
        ({"failure_rate": 0.0}, "f", "k", 0.0),
        ({"repeat_rate": 0.0}, "ff", "f", 0.0),
        (
            {"repeat_rate": 1.0, "give_up_rate": 0.0, "failure_rate": 1.0, "error_rate": 0.0},
            "ffffffff",
            "k",
            1.0,
        ),
        ({"give_up_rate": 1.0}, "p", "f", 0.0),
        ({"restart_rate": 1.0}, "er", "e", 1.0),
        ({"error_rate": 0.0}, "e", "", 0.0),
    ],
    ids=str,
)
def test_each_knob_is_heeded(knobs: dict[str, float], part: str, of: str, wanted: float) -> None:
    texts = [*map(written, sessions(replace(STEADY, **knobs)))]
    assert share([text.replace("fh", "f") for text in texts], part, of) == pytest.approx(wanted, abs=0.03)


def test_devices_and_countries_differ_in_where_users_leave() -> None:
    found = sessions(replace(STEADY, events=60_000, skew=0.0))

    def at(column: str, value: str, part: str, of: str) -> float:
        return share([written(events) for events in found if events[0][column] == value], part, of)

    assert at("device", "Phone", "k", "c") + 0.2 < at("device", "Desktop", "k", "c")
    assert at("country", "DE", "f", "k") + 0.1 < at("country", "FR", "f", "k")


def test_ties_nulls_and_skew_follow_their_rates() -> None:
    tied = sessions(replace(STEADY, tie_rate=0.2, null_rate=0.1))
    steps = [one["time"] == after["time"] for events in tied for one, after in pairwise(events)]
    assert 0.18 < sum(steps) / len(steps) < 0.22
    views = [event for events in tied for event in events if event["type"] == "View"]
    assert 0.08 < sum(event["amount"] is None for event in views) / len(views) < 0.12
    # Of all users, not events: a country is drawn for each of them.
    wide = generate(replace(STEADY, users=5_000)).to_pylist()
    counted = Counter(country for _, country in {(row["user"], row["country"]) for row in wide})
    assert counted.most_common(1)[0][0] == "US"
    assert 6 < counted["US"] / counted["PL"] < 11
    assert set(generate(replace(STEADY, countries=10))["country"].to_pylist()) > {"Country8", "Country9"}


def test_events_of_a_session_that_tie_keep_their_order() -> None:
    texts = [*map(written, sessions(replace(SMALL, tie_rate=0.9)))]
    broken = [text for text in texts if not GRAMMAR.fullmatch(re.sub("fh", "f", re.sub("er?", "", text)))]
    assert len(texts) > 500
    assert len(broken) <= 1  # The last session is cut off.


def test_a_large_stream_is_drawn_in_blocks_and_is_one_stream_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = generate(STEADY)
    monkeypatch.setattr(clickstream, "BLOCK", 2_000)
    table = generate(STEADY)
    assert table.num_rows == 20_000
    assert table["time"].to_pylist() == sorted(table["time"].to_pylist())
    for name in ("type", "country", "device", "campaign", "status"):
        blocked, plain = (Counter(each[name].to_pylist()) for each in (table, whole))
        assert all(abs(blocked[value] - plain[value]) < 60 + plain[value] / 5 for value in plain)
    homes = [
        dict(zip(each["user"].to_pylist(), each["country"].to_pylist(), strict=True))
        for each in (table, whole)
    ]
    assert homes[0] == homes[1]
    found = sessions(STEADY)
    assert all(len({event["user"] for event in events}) == 1 for events in found)
    assert {written(events)[0] for events in found} == {"I", "s", "v"}


def test_users_come_back_so_that_what_a_session_leaves_another_may_finish() -> None:
    asked = "RETURN COUNT(PARTITIONS) PATTERN SEQ(Cart c, Purchase p) WHERE [{}] WITHIN 8 days"
    rows = {
        key: hamlet_core.run(asked.format(key), generate(STEADY), engine="greta")["value"].to_pylist()
        for key in ("user", "user, session")
    }
    users, in_one_session = (values[0] for values in rows.values())
    assert users > 0
    assert in_one_session > users


@pytest.mark.parametrize(
    "wrong",
    [
        {"events": -1}, {"users": 0}, {"countries": 0}, {"tie_rate": 1.5}, {"days": 0.0}, {"days": 1e12}, {"carts": 0.5},
        {"repeat_rate": -0.1}, {"longest_failure": 0}, {"users": 2**40},
    ],
    ids=str,
)  # fmt: skip
def test_descriptions_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(StreamError, match="E290"):
        replace(SMALL, **wrong)


def test_queries_of_a_workload_share_and_look_at_one_user_each() -> None:
    text = generate_workload("clickstream", 12, 7)
    assert text.count("WHERE [user] AND b.amount >= ") == 12
    sharable = [line for line in hamlet_core.explain(text).splitlines() if line.startswith("sharable")]
    shared = {name for line in sharable for name in re.findall(r"q\d+", line)}
    assert {kleene for line in sharable for kleene in re.findall(r"(\w+)\+ for", line)} == {
        "View",
        "Cart",
        "PaymentFailed",
    }
    assert len(shared) == 12
