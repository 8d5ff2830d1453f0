"""Every golden case, in the oracle and in every engine and arithmetic, through the public door."""

import pytest

import hamlet_core
from hamlet_core import EventSchema, HamletError
from hamlet_core.engines.registry import ENGINES
from hamlet_core.language.parser import parse_syntax
from tests.golden import harness
from tests.oracle.oracle import oracle_rows

CASES = [case for file in harness.FILES for case in harness.load(file)]
SCHEMA = EventSchema(time="t", type="type")

REFUSED: dict[str, frozenset[str]] = {}
"""Engine -> names of cases it still refuses with a named error. May only shrink."""


def named(case):
    return case.name


def test_there_are_as_many_cases_as_were_handed_over():
    counts = [len(harness.load(file)) for file in harness.FILES]
    assert counts == [25, 15, 100, 60, 60]


@pytest.mark.parametrize("case", CASES, ids=named)
def test_oracle(case):
    found = {
        (query.name, row.window_start, harness.group_key(row.group), label): value
        for query in parse_syntax(case.text).queries
        for row in oracle_rows(query, case.events)
        for label, value in row.values.items()
    }
    assert found == case.expected


@pytest.mark.parametrize("arithmetic", harness.ARITHMETICS)
@pytest.mark.parametrize("engine", sorted(ENGINES))
@pytest.mark.parametrize("case", CASES, ids=named)
def test_engine(case, engine, arithmetic):
    def run():
        return hamlet_core.run(
            case.text, harness.table(case.events), schema=SCHEMA, engine=engine, arithmetic=arithmetic
        )

    if case.name in REFUSED.get(engine, ()):
        with pytest.raises(HamletError):
            run()
        return
    assert harness.differences(run(), case.expected, arithmetic) == []
