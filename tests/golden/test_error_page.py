"""The page of errors names every code once, and its examples are refused with the code they stand beside."""

import re

import pyarrow as pa
import pytest

from hamlet_core import HamletError, run
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "errors.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in PAGE.splitlines()
    if re.match(r"\| E\d{3} \|", line)
]
EXAMPLES = {
    row[0]: row[2][1:-1]
    for row in ROWS
    if len(row) == 4 and re.search(r"RETURN .*PATTERN|^`SELECT|^`FUNNEL|^`-- ", row[2])
}
TABLE = pa.schema(
    {
        "time": pa.int64(),
        "type": pa.string(),
        "v": pa.int64(),
        "name": pa.string(),
        "g": pa.string(),
        "at": pa.timestamp("us"),
    }
)


def codes_in_code():
    sources = [
        path for room in ("hamlet_core", "pipelines", "resources") for path in (ROOT / room).rglob("*.py")
    ]
    return {code for path in sources for code in re.findall(r'"(E\d{3})"', path.read_text("utf-8"))}


def test_every_code_stands_once_in_the_page_and_the_page_invents_none():
    listed = [row[0] for row in ROWS]
    assert sorted(listed) == sorted(codes_in_code())


def test_codes_stand_in_order_with_a_meaning_and_a_cure():
    listed = [row[0] for row in ROWS]
    assert listed == sorted(listed)
    for code, *cells in ROWS:
        assert len(cells) == (1 if code.startswith("E9") else 3), code
        assert all(cells), code


def test_most_codes_of_texts_have_an_example_that_is_run():
    texts = {row[0] for row in ROWS if row[0][:2] in {"E0", "E1"}}
    assert texts - set(EXAMPLES) == {"E005", "E018", "E026", "E132"}


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_example_is_refused_with_its_code(code):
    with pytest.raises(HamletError) as caught:
        run(EXAMPLES[code], TABLE.empty_table())
    assert caught.value.code == code
