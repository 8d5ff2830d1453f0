"""The page of engines says what each engine answers: every query that it shows is tried on each."""

from __future__ import annotations

import re

import pytest

from hamlet_core import QueryMeaningError
from hamlet_core.engines.registry import ENGINES, GENERAL
from hamlet_core.execution import check_engine
from tests.conftest import ROOT

PAGE = (ROOT / "docs/engines.md").read_text(encoding="utf-8")
HEAD, _, *ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.partition("| construct ")[2].partition("\n\n")[0].splitlines()
]
NAMES = HEAD[1:]


def accepts(engine: str, text: str) -> bool:
    try:
        check_engine(text, engine)
    except QueryMeaningError as error:
        if error.code != "E302":
            raise
        return False
    return True


def test_every_engine_has_a_column() -> None:
    assert set(NAMES) == set(ENGINES)
    assert len(ROWS) > 15


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_engines_answer_what_the_page_says(row: list[str]) -> None:
    _, example, *answers = row
    text = example.strip("`") + " WITHIN 9 s"
    assert {*answers} <= {"yes", "no"}
    assert {name: accepts(name, text) for name in NAMES} == {
        name: answer == "yes" for name, answer in zip(NAMES, answers, strict=True)
    }


def test_engines_that_answer_every_query_are_named() -> None:
    general = re.search(r"(.*?) answer every query", PAGE.replace("\n", " "))
    assert general is not None
    assert re.findall(r"`(\w+)`", general[1].rpartition(".")[2]) == list(GENERAL)
