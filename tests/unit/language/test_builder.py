"""Queries built in Python are the trees that their texts have."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from hamlet_core.errors import QueryMeaningError, QuerySyntaxError
from hamlet_core.language import parse_syntax
from hamlet_core.language.builder import (
    Value,
    absent,
    both,
    count,
    count_disjoint,
    count_partitions,
    duration,
    either,
    event,
    following,
    query,
    reach,
    same,
    seq,
    workload,
)
from hamlet_core.language.syntax import Mode

A, B = event("A", "a"), event("B")


def built(pattern=A, **clauses):
    return query("q1", **{"returns": [count()], "pattern": pattern, "within": "10 min", **clauses})


def read(pattern="A a", where="", returns="COUNT(*)", window="10 min"):
    condition = f"WHERE {where}" if where else ""
    return parse_syntax(f"RETURN {returns} PATTERN {pattern} {condition} WITHIN {window}").queries[0]


PATTERNS = {
    "A a+": A.plus(),
    "SEQ(A a*, B?)": seq(A.star(), B.optional()),
    "SEQ(A a, NOT SEQ(B, C)+, D)": seq(A, absent(seq(B, event("C")).plus()), event("D")),
    "(A a OR B OR C)": either(A, B, event("C")),
    "(A a AND B+)": both(A, B.plus()),
}


@pytest.mark.parametrize("text", PATTERNS)
def test_pattern(text):
    assert built(PATTERNS[text]) == read(text)


CONDITIONS = {
    "a.x = 1": A.x == 1,
    "a.x != 1": A.x != 1,
    "a.x < 1": A.x < 1,
    "a.x <= 1": A.x <= 1,
    "a.x > 1": A.x > 1,
    "a.x >= 1": A.x >= 1,
    "a.x > 1 ": 1 < A.x,  # noqa: SIM300 - the reflected operator
    "a.x + 1 = 1 + a.x": A.x + 1 == 1 + A.x,
    "a.x - 1 = 1 - a.x": A.x - 1 == 1 - A.x,
    "a.x * 2 = 2 * a.x": A.x * 2 == 2 * A.x,
    "a.x / 2 = 2 / a.x": A.x / 2 == 2 / A.x,
    "a.x % 2 = 2 % a.x": A.x % 2 == 2 % A.x,
    "-a.x = -1": -A.x == -1,
    "(a.x + 1) * 2 = 1.5": (A.x + 1) * 2 == 1.5,
    "a.x = 1 AND a.y = 2 AND a.z": (A.x == 1) & (A.y == 2) & A.z,
    "a.x OR a.y OR a.z AND NOT a.x": A.x | A.y | (A.z & ~A.x),
    "a.x IN ('Pool', 2)": A.x.is_in("Pool", 2),
    "NOT a.x IN (1)": ~A.x.is_in(1),
    "a.x BETWEEN 1 AND a.y": A.x.between(1, A.y),
    "a.x IS NULL": A.x.is_null(),
    "a.x IS NOT NULL": A.x.is_not_null(),
    "a.x LIKE 'b%'": A.x.like("b%"),
    "a.x < NEXT(B).y": A.x < following(B).y,
    "a.plus = a._private": A["plus"] == A["_private"],
    "NEXT(a).time - a.time < 5 min": following(A).time - A.time < timedelta(minutes=5),
    "a.t > TIMESTAMP '2015-01-01 08:00'": A.t > datetime(2015, 1, 1, 8),  # noqa: DTZ001 - naive means UTC
    "a.t >  TIMESTAMP '2015-01-01 08:00'": A.t
    > datetime(2015, 1, 1, 10, tzinfo=timezone(timedelta(hours=2))),
    "a.t >= TIMESTAMP '2015-01-01'": A.t >= datetime(2015, 1, 1, tzinfo=UTC),
    "a.x = TRUE AND a.y = NULL": (A.x == True) & (A.y == None),  # noqa: E711, E712 - operators build text
    "a.x = 2.50": A.x == Decimal("2.50"),
    "[u, v]": same("u", "v"),
}


@pytest.mark.parametrize("text", CONDITIONS)
def test_condition(text):
    assert built(where=[CONDITIONS[text]]) == read(where=text)


def test_clauses():
    made = query(
        "all",
        returns=["g", A.h, count(), count(A), A.x.sum(), A.x.avg(), A.x.min(), A.x.max()],
        pattern=A.plus(),
        where=[same("u"), A.x < 5],
        group_by=["g", A.h],
        within=timedelta(hours=1),
        slide="90 s",
    )
    text = """all: RETURN g, a.h, COUNT(*), COUNT(a), SUM(a.x), AVG(a.x), MIN(a.x), MAX(a.x)
      PATTERN A a+ WHERE [u] AND a.x < 5 GROUP-BY g, a.h WITHIN 60 min SLIDE 1.5 min"""
    assert made == parse_syntax(text).queries[0]


def test_aggregates_over_partitions_and_trends():
    lasting = duration()
    made = built(
        returns=[
            *(reach(A), count_partitions(), count_disjoint()),
            *(lasting.sum(), lasting.avg(), lasting.min(), lasting.max()),
        ]
    )
    words = "REACH(a), COUNT(PARTITIONS), COUNT(DISJOINT), SUM(DURATION), AVG(DURATION), MIN(DURATION), MAX(DURATION)"
    assert made == read(returns=words)


def test_an_alias_may_be_called_as_a_word_of_count():
    named = event("A", "PARTITIONS")
    made = workload(built(named, returns=[count(named), reach(named), count_disjoint()]))
    assert [aggregate.alias for aggregate in made.queries[0].aggregates] == ["PARTITIONS", "PARTITIONS", None]


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        (Mode.ANY, "any"),
        (Mode.NEXT, "next"),
        (Mode.CONTIGUOUS, "contiguous"),
        ("Next", "skip-till-next-match"),
        ("skip till any match", "any"),
        ("SKIP_TILL_NEXT_MATCH", "next"),
        (" contiguous\n", "contiguous"),
    ],
)
def test_mode(mode, text):
    assert built(mode=mode) == read(f"A a SEMANTICS {text}")


@pytest.mark.parametrize(("mode", "near"), [("strict", "contiguous"), ("skip-next", "skip-till-next-match")])
def test_what_is_no_mode(mode, near):
    with pytest.raises(QuerySyntaxError, match="E027") as caught:
        built(mode=mode)
    assert caught.value.hint.startswith(f"did you mean {near}? modes are ")


def test_a_workload_knows_its_text_and_places():
    made = workload(built(), query("other", returns=[count()], pattern=B, within="1 s"))
    assert made == parse_syntax(made.text)
    assert made.queries[1].span == (5, 1)


def test_values_pickle_and_copy():
    condition = A.x < 5
    for again in (pickle.loads(pickle.dumps(condition)), copy.deepcopy(condition)):
        assert again.expression == condition.expression
    assert pickle.loads(pickle.dumps(A)) == copy.deepcopy(A) == A


def test_a_condition_has_no_truth():
    with pytest.raises(TypeError, match="join with &"):
        bool(A.x < 5)
    with pytest.raises(TypeError, match="join with &"):
        1 < A.x < 5  # noqa: B015 - the point of the test
    with pytest.raises(TypeError, match="unhashable"):
        hash(A.x)


def test_what_is_no_constant():
    with pytest.raises(TypeError, match="list is no constant"):
        _ = A.x == [1]
    for number in (float("nan"), float("inf"), Decimal("nan")):
        with pytest.raises(QuerySyntaxError, match="E026"):
            _ = A.x == number


@pytest.mark.parametrize("length", ["5", "min", "5 weeks", "5 min SLIDE 3 s", "-5 min", "0.0001 ms", ""])
def test_what_is_no_length_of_time(length):
    with pytest.raises(QuerySyntaxError, match="E026"):
        built(within=length)


def test_a_workload_is_checked_as_a_text_is():
    with pytest.raises(QueryMeaningError, match="E101"):
        workload(built(within=timedelta(0)))
    with pytest.raises(QueryMeaningError, match="E140"):
        workload(built(), built())
    with pytest.raises(QuerySyntaxError, match="E004"):
        workload(built(event("")))
    deep = A
    for _ in range(200):
        deep = deep.plus()
    with pytest.raises(QuerySyntaxError, match="E018"):
        workload(built(deep))


def test_a_value_shows_its_text():
    assert repr(A.x + 1 < 5) == "Value(a.x + 1 < 5)"
    assert isinstance(A.x, Value)
