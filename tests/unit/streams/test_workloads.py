"""Workloads for the streams: equal for equal seeds, with the shares of their mix, and with results on a small stream."""

from __future__ import annotations

import re
from collections import Counter

import pytest

import hamlet_core
from hamlet_core.errors import StreamError
from hamlet_core.streams import STREAMS, generate_stream, generate_workload
from hamlet_core.streams.grounds import GROUNDS


def test_every_stream_has_its_workloads() -> None:
    assert GROUNDS.keys() == STREAMS.keys()


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("queries", [5, 100])
def test_a_workload_parses_and_its_queries_differ(stream: str, queries: int) -> None:
    text = generate_workload(stream, queries, 3)
    assert text == generate_workload(stream, queries, 3) != generate_workload(stream, queries, 4)
    assert [query.name for query in hamlet_core.parse(text).queries] == [f"q{n + 1}" for n in range(queries)]
    assert len({line.split(": ")[1] for line in text.splitlines()[1:]}) == queries


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("knobs", [{}, {"adjacent_rate": 1.0, "slide": 0, "group_rate": 0.5}], ids=str)
def test_a_workload_has_results_on_its_stream(stream: str, knobs: dict[str, float]) -> None:
    events = generate_stream(stream, 1_500, 3)
    results = hamlet_core.run(generate_workload(stream, 20, 3, **knobs), events, engine="greta")
    assert len(set(results["query"].to_pylist())) >= 2


@pytest.mark.parametrize("types", [1, 2, 3, 30])
@pytest.mark.parametrize("stream", STREAMS)
def test_a_workload_knows_the_types_of_a_smaller_stream(stream: str, types: int) -> None:
    knobs = {} if stream in ("clickstream", "ridesharing") else {"types": types}
    known = generate_stream(stream, 10, 3, **knobs)["type"].combine_chunks().dictionary.to_pylist()
    text = generate_workload(stream, 20, 3, types=types)
    used = set(re.findall(r"(\w+) (?:p\b|b\+|s\b)", text))
    assert used
    assert used <= set(known)


def test_queries_follow_the_rates_of_the_mix() -> None:
    text = generate_workload("stock", 400, 3, kleene_groups=200)
    queries = [line.split(": ")[1] for line in text.splitlines()[1:]]
    assert 0.4 < sum(" p, " in query for query in queries) / 400 < 0.6
    assert 0.4 < sum(", C" in query.split("b+")[1] for query in queries) / 400 < 0.6
    assert 0.25 < sum("COUNT(*)" in query for query in queries) / 400 < 0.55
    returned = Counter(query.split(", ")[1].split("(")[0] for query in queries)
    assert returned.keys() == {"COUNT", "SUM", "AVG", "MIN", "MAX"}
    assert set(re.findall(r"WITHIN (\d+) min SLIDE 5 min", text)) == {"5", "10", "15", "20"}
    assert set(re.findall(r"b\.vol >= (\d+)", text)) == {"100", "50", "30"}


def test_a_group_shares_its_kleene_sub_pattern_and_aggregate() -> None:
    text = generate_workload("stock", 20, 3, kleene_groups=4)
    queries = [line.split(": ")[1] for line in text.splitlines()[1:]]
    for group in range(4):
        kept = [(re.findall(r"\w+ b\+", query), query.split(" PATTERN")[0]) for query in queries[group::4]]
        assert all(one == kept[0] for one in kept)


def test_a_mix_is_checked() -> None:
    for wrong in (
        {"colour": 1},
        {"prefix_rate": 2.0},
        {"windows": ()},
        {"windows": (0,)},
        {"windows": 5},
        {"slide": -5},
    ):
        with pytest.raises(StreamError, match="E290"):
            generate_workload("stock", 5, 3, **wrong)
    with pytest.raises(StreamError, match="E290"):
        generate_workload("stock", 0, 3)
    with pytest.raises(StreamError, match="E291"):
        generate_workload("tides", 5, 3)
