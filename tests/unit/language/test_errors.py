"""What a bad text is told: the golden table, the limits, and the codes."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import pytest

from hamlet_core.errors import LONGEST_LINE, HamletError, QueryMeaningError, QuerySyntaxError
from hamlet_core.language import parse_syntax, write_workload
from hamlet_core.language.codes import SyntaxCode
from hamlet_core.language.limits import MAX_NESTING

TABLE = Path(__file__).parents[2] / "golden" / "syntax_errors.json"
CASES = json.loads(TABLE.read_text("utf-8"))
KINDS = {kind.__name__: kind for kind in (QuerySyntaxError, QueryMeaningError)}
PATTERN = "RETURN COUNT(*) PATTERN "
CONDITION = PATTERN + "A WHERE "
WINDOW = " WITHIN 5 s"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['code']} {case['text'][-40:]!a}")
def test_golden_error(case):
    with pytest.raises(KINDS[case["error"]]) as caught:
        parse_syntax(case["text"])
    error = caught.value
    told = (error.code, error.line, error.column, error.message, error.hint)
    assert told == (case["code"], case["line"], case["column"], case["message"], case["hint"])
    assert error.text == case["text"]
    str(error)


def test_the_table_reaches_every_code_of_a_text():
    elsewhere = {SyntaxCode.LONG_NUMBER, SyntaxCode.DEEP_NESTING, SyntaxCode.NO_CONSTANT}
    assert {case["code"] for case in CASES} == {code.value for code in SyntaxCode if code not in elsewhere}


def test_codes_are_unique_and_documented():
    assert len({code.value for code in SyntaxCode}) == len(list(SyntaxCode)) == len(SyntaxCode.__members__)
    assert all(code.meaning.endswith(".") for code in SyntaxCode)


def code_of(text: str) -> str:
    with pytest.raises(HamletError) as caught:
        parse_syntax(text)
    str(caught.value)
    return caught.value.code


ENDLESS = {
    "parentheses of a pattern": PATTERN + "(" * 10_000 + "A" + ")" * 10_000 + WINDOW,
    "open parentheses": PATTERN + "(" * 10_000,
    "sequences": PATTERN + "SEQ(" * 10_000 + "A" + ")" * 10_000 + WINDOW,
    "signs after a pattern": PATTERN + "A" + "+?*" * 10_000 + WINDOW,
    "NOT before a pattern": PATTERN + "NOT " * 10_000 + "A" + WINDOW,
    "parentheses of a condition": CONDITION + "(" * 10_000 + "A.x" + ")" * 10_000 + WINDOW,
    "NOT before a condition": CONDITION + "NOT " * 10_000 + "A.x" + WINDOW,
    "minus signs": CONDITION + "- " * 10_000 + "A.x" + WINDOW,
    "a sum": CONDITION + "A.x + " * 10_000 + "A.x" + WINDOW,
    "brackets": CONDITION + "[" * 10_000,
    "one level too many": PATTERN + "A" + "+" * MAX_NESTING + WINDOW,
}


@pytest.mark.parametrize("name", [name for name in ENDLESS if name != "brackets"])
def test_nesting_has_a_limit(name):
    assert code_of(ENDLESS[name]) == "E018"


def test_brackets_do_not_nest_at_all():
    assert code_of(ENDLESS["brackets"]) == "E006"


@pytest.mark.parametrize(
    "text",
    [
        PATTERN + "A" + "+" * (MAX_NESTING - 1) + WINDOW,
        PATTERN + "SEQ(" * (MAX_NESTING - 1) + "A" + ")" * (MAX_NESTING - 1) + WINDOW,
        PATTERN + "(" * MAX_NESTING + "A" + ")" * MAX_NESTING + WINDOW,
        CONDITION + "NOT " * (MAX_NESTING - 1) + "A.x" + WINDOW,
        CONDITION + "(A.x OR " * (MAX_NESTING - 1) + "A.x" + ")" * (MAX_NESTING - 1) + WINDOW,
        CONDITION + "A.x + " * (MAX_NESTING - 1) + "A.x" + WINDOW,
    ],
    ids=lambda text: text[:50],
)
def test_the_deepest_tree_can_be_compared_shown_copied_pickled_and_written(text):
    read = parse_syntax(text)
    assert (
        read == copy.deepcopy(read) == pickle.loads(pickle.dumps(read)) == parse_syntax(write_workload(read))
    )
    assert hash(read.queries) == hash(parse_syntax(text).queries)
    assert repr(read)


def test_long_is_not_deep():
    conditions = " AND ".join(f"(A.x = {i} OR A.y IN ({i}, {i}))" for i in range(1_000))
    assert len(parse_syntax(f"{CONDITION}{conditions}{WINDOW}").queries[0].where) == 1_000
    types = ", ".join(f"T{i}" for i in range(2_000))
    assert len(parse_syntax(f"{PATTERN}SEQ({types}){WINDOW}").queries[0].pattern.parts) == 2_000


@pytest.mark.parametrize(
    "number", ["9" * 401, "9" * 1_000_000, "1e401", "1e999999999999999999999", "0." + "1" * 401]
)
def test_numbers_have_a_limit(number):
    assert code_of(f"{CONDITION}A.x = {number}{WINDOW}") == "E017"


def test_an_error_pickles():
    with pytest.raises(QuerySyntaxError) as caught:
        parse_syntax("RETURN")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (QuerySyntaxError, str(caught.value))


@pytest.mark.parametrize(
    ("before", "after"), [(0, 5_000), (10, 5_000), (5_000, 0), (5_000, 5_000), (0, 0), (450, 500)]
)
def test_an_error_in_a_long_line_shows_what_is_around_its_place(before: int, after: int):
    text = f"first\n{'x' * before}!{'y' * after}\nlast"
    error = QuerySyntaxError("wrong", code="E002", line=2, column=before + 1, text=text)
    _, line, pointer = str(error).split("\n")
    assert len(line) <= LONGEST_LINE + len("  ......")
    assert line[len(pointer) - 1] == "!"
    assert ("..." in line) == (before + after > LONGEST_LINE)
    assert (error.column, error.text) == (before + 1, text)


def test_a_long_name_in_a_message_is_shown_without_its_middle():
    name = "a" + "b" * 1_000_000 + "c"
    error = HamletError(f"no column {name}", code="E451", hint=f"columns are {name}\nor none")
    told, *hint = str(error).split("\n")
    assert all(len(line) < LONGEST_LINE + 50 for line in (told, *hint))
    assert told.startswith("[E451] no column abb")
    assert told.endswith("bbc")
    assert hint[-1] == "or none"
    assert name in error.message
