"""WHERE falls into conjuncts, and each conjunct into its kind."""

from __future__ import annotations

import pytest

from hamlet_core import QueryMeaningError, parse
from hamlet_core.pattern.conditions import Adjacent, Local
from hamlet_core.pattern.meaning import analyse_workload


def analysed(where: str):
    return analyse_workload(parse(f"RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE {where} WITHIN 5 s"))[0]


@pytest.mark.parametrize(
    "where",
    [
        "a.x < 1 AND b.y < 2 AND b.y < NEXT(b).y",
        "(a.x < 1 AND b.y < 2) AND b.y < NEXT(b).y",
        "(a.x < 1 AND (b.y < 2 AND b.y < NEXT(b).y))",
    ],
)
def test_parentheses_around_and_change_nothing(where):
    found = analysed(where)
    assert [condition.alias for condition in found.local] == ["a", "b"]
    assert [(condition.left, condition.right) for condition in found.adjacent] == [("b", "b")]


def test_an_or_over_two_aliases_is_of_no_kind_even_beside_an_and():
    with pytest.raises(QueryMeaningError) as refused:
        analysed("(a.x < 1 AND (a.x < 1 OR b.y < 2))")
    assert refused.value.code == "E117"


def test_kinds():
    found = analysed("[u, g] AND [u] AND NOT (a.x < 1 AND a.y < 2) AND a.x < NEXT(b).y")
    assert found.equivalence == ("u", "g")
    assert isinstance(found.local[0], Local)
    assert isinstance(found.adjacent[0], Adjacent)
