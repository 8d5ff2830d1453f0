"""Hypothesis strategies for every syntax tree that a text can say: odd names, odd strings, every kind of node."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import strategies as st

from hamlet_core.language import syntax
from hamlet_core.language.literals import MAX_MICROSECONDS

KEYWORDS = [
    "where",
    "NOT",
    "Or",
    "and",
    "SEQ",
    "next",
    "null",
    "count",
    "min",
    "within",
    "group",
    "by",
    "timestamp",
    "semantics",
    "any",
    "reach",
    "PARTITIONS",
    "disjoint",
    "DURATION",
    "funnel",
]
names = st.one_of(
    st.sampled_from(["a", "B", "time", "type", "x1", "_", "größe", *KEYWORDS]),
    st.text(min_size=1, max_size=5),
    st.sampled_from(['"', '""', "a b", "1a", "a.b", "--", "'", "\n", "\x00", "\U0001f600"]),
)
strings = st.one_of(st.text(max_size=6), st.sampled_from(["'", "''", "-- x", "Pool", "\r\n", '"']))
durations = st.integers(-MAX_MICROSECONDS + 1, MAX_MICROSECONDS - 1).map(syntax.Duration)
lengths = st.one_of(
    st.integers(1, MAX_MICROSECONDS - 1),
    st.builds(
        lambda count, unit: count * unit,
        st.integers(1, 90),
        st.sampled_from([1000, 10**6, 6 * 10**7, 864 * 10**8]),
    ),
).map(syntax.Duration)
timestamps = st.integers(-62135596800_000_000, 253402300799_999_999).map(syntax.Timestamp)
decimals = st.decimals(allow_nan=False, allow_infinity=False).filter(
    lambda value: abs(value.as_tuple().exponent) < 300
)
literals = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    decimals,
    st.just(Decimal(7)),
    strings,
    timestamps,
    durations,
).map(syntax.Literal)
attributes = st.builds(syntax.Attribute, names, names, st.booleans())


def several(inner: st.SearchStrategy, least: int = 2) -> st.SearchStrategy:
    return st.lists(inner, min_size=least, max_size=3).map(tuple)


def _larger_expressions(inner: st.SearchStrategy) -> st.SearchStrategy:
    return st.one_of(
        st.builds(syntax.Arithmetic, st.sampled_from(syntax.ArithmeticOperator), inner, inner),
        st.builds(syntax.Minus, inner),
        st.builds(syntax.Comparison, st.sampled_from(syntax.ComparisonOperator), inner, inner),
        st.builds(syntax.Conjunction, several(inner)),
        st.builds(syntax.Disjunction, several(inner)),
        st.builds(syntax.Negation, inner),
        st.builds(syntax.InList, inner, several(inner, 1), st.booleans()),
        st.builds(syntax.Between, inner, inner, inner, st.booleans()),
        st.builds(syntax.IsNull, inner, st.booleans()),
        st.builds(syntax.Like, inner, strings, st.booleans()),
    )


expressions = st.recursive(st.one_of(literals, attributes), _larger_expressions, max_leaves=12)
equivalences = st.builds(syntax.Equivalence, several(names, 1))


def _larger_patterns(inner: st.SearchStrategy) -> st.SearchStrategy:
    return st.one_of(
        st.builds(syntax.Plus, inner),
        st.builds(syntax.Star, inner),
        st.builds(syntax.Optional, inner),
        st.builds(syntax.Not, inner),
        st.builds(syntax.Seq, several(inner, 1)),
        st.builds(syntax.Or, several(inner)),
        st.builds(syntax.And, inner, inner),
    )


atoms = st.one_of(st.builds(syntax.Atom, names, names), names.map(lambda name: syntax.Atom(name, name)))
patterns = st.recursive(atoms, _larger_patterns, max_leaves=8)
groups = st.builds(syntax.GroupAttribute, names, st.none() | names)
_count, _reach = st.just(syntax.AggregateFunction.COUNT), st.just(syntax.AggregateFunction.REACH)
_measured = st.sampled_from(
    [
        syntax.AggregateFunction.SUM,
        syntax.AggregateFunction.AVG,
        syntax.AggregateFunction.MIN,
        syntax.AggregateFunction.MAX,
    ]
)
_counted = st.sampled_from([syntax.Subject.PARTITIONS, syntax.Subject.DISJOINT])
aggregates = st.one_of(
    st.builds(syntax.Aggregate, _count, st.none() | names),
    st.builds(syntax.Aggregate, _measured, names, names),
    st.builds(syntax.Aggregate, _reach, names),
    st.builds(syntax.Aggregate, _count, subject=_counted),
    st.builds(syntax.Aggregate, _measured, subject=st.just(syntax.Subject.DURATION)),
)
queries = st.builds(
    syntax.Query,
    name=names,
    returns=several(st.one_of(aggregates, groups), 1),
    pattern=patterns,
    within=lengths,
    slide=lengths,
    where=several(st.one_of(equivalences, expressions), 0),
    group_by=several(groups, 0),
    mode=st.sampled_from(syntax.Mode),
)
workloads = st.lists(queries, min_size=1, max_size=4, unique_by=lambda query: query.name).map(
    lambda several: syntax.Workload(tuple(several))
)
