"""Three-valued logic against truth tables written out by hand."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet_core.language.syntax import (
    Attribute,
    Conjunction,
    Disjunction,
    Expression,
    InList,
    IsNull,
    Literal,
    Negation,
)
from hamlet_core.predicates.evaluate import compile_adjacent, compile_local
from hamlet_core.predicates.logic import Truth, all_of, any_of, negate
from hamlet_core.table.encode import Column
from hamlet_core.table.kinds import Kind

#        right:  T    F    N
AND = {"T": "T    F    N", "F": "F    F    F", "N": "N    F    N"}
OR = {"T": "T    T    T", "F": "T    F    N", "N": "T    N    N"}
SIGNS: dict[str, Truth] = {"T": True, "F": False, "N": None}


def table(rows: dict[str, str]) -> list[tuple[Truth, Truth, Truth]]:
    return [
        (SIGNS[left], SIGNS[right], SIGNS[result])
        for left, results in rows.items()
        for right, result in zip("TFN", results.split(), strict=True)
    ]


@pytest.mark.parametrize(("left", "right", "result"), table(AND))
def test_and(left: Truth, right: Truth, result: Truth) -> None:
    assert all_of([left, right]) is result


@pytest.mark.parametrize(("left", "right", "result"), table(OR))
def test_or(left: Truth, right: Truth, result: Truth) -> None:
    assert any_of([left, right]) is result


def test_not() -> None:
    assert [negate(truth) for truth in (True, False, None)] == [False, True, None]


ASSIGNMENTS = list(itertools.product((True, False, None), repeat=3))
COLUMNS = {
    name: Column(name, Kind.BOOLEAN, 0, [assignment[place] for assignment in ASSIGNMENTS])
    for place, name in enumerate("pqr")
}

leaves: st.SearchStrategy[Expression] = st.one_of(
    st.sampled_from("pqr").map(lambda name: Attribute("a", name)),
    st.sampled_from([True, False, None]).map(Literal),
)
formulas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        inner.map(Negation),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Conjunction(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Disjunction(tuple(parts))),
        st.builds(IsNull, inner, st.booleans()),
        st.builds(InList, inner, st.lists(inner, min_size=1, max_size=3).map(tuple), st.booleans()),
    ),
    max_leaves=12,
)


def level(expression: Expression, assignment: tuple[Truth, ...]) -> float:
    """Kleene's reading in numbers: TRUE 1, FALSE 0, NULL a half; AND is the least, OR the greatest."""
    match expression:
        case Literal(value) if value is None or isinstance(value, bool):
            return 0.5 if value is None else float(value)
        case Attribute(_, name):
            truth = assignment["pqr".index(name)]
            return 0.5 if truth is None else float(truth)
        case Negation(operand):
            return 1 - level(operand, assignment)
        case Conjunction(parts):
            return min(level(part, assignment) for part in parts)
        case Disjunction(parts):
            return max(level(part, assignment) for part in parts)
        case IsNull(operand, negated):
            return float((level(operand, assignment) == 0.5) != negated)
        case InList(operand, items, negated):
            mine = level(operand, assignment)
            equal = [
                0.5 if 0.5 in (mine, other) else float(mine == other)
                for other in (level(item, assignment) for item in items)
            ]
            return 1 - max(equal) if negated else max(equal)
    raise AssertionError(expression)


@given(formulas)
def test_any_formula_agrees_with_kleene(formula: Expression) -> None:
    expected = [{1.0: True, 0.0: False, 0.5: None}[level(formula, one)] for one in ASSIGNMENTS]
    local = compile_local(formula, COLUMNS, unit=1)
    adjacent = compile_adjacent(formula, COLUMNS, unit=1)
    rows = range(len(ASSIGNMENTS))
    assert [local(row) for row in rows] == expected
    assert [adjacent(row, 0) for row in rows] == expected


@pytest.mark.parametrize(("connect", "decided"), [(all_of, False), (any_of, True)])
def test_nothing_is_read_after_the_decision(connect: object, decided: bool) -> None:
    rest = iter([None, decided, True, False])
    assert connect(rest) is decided  # type: ignore[operator]
    assert list(rest) == [True, False]
