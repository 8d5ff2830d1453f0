"""What README and docs show works: marked blocks run, queries parse, examples answer, tables are described in full."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

import hamlet_core
from hamlet_core.streams import generate_stream
from pipelines.cli import COMMANDS
from resources import tables
from tests.conftest import ROOT

PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md")])
FENCE = re.compile(r"^```(\w+)(?: ([\w-]+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EXAMPLES = sorted((ROOT / "examples").glob("*.hamlet"))


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; `mark` is the second word of its fence (run, run-warehouse, run-spark)."""

    page: str
    language: str
    mark: str
    text: str


def blocks() -> list[Block]:
    return [
        Block(page.name, language, mark, text)
        for page in PAGES
        for language, mark, text in FENCE.findall(page.read_text(encoding="utf-8"))
    ]


def marked(mark: str) -> list[Block]:
    return [block for block in blocks() if block.mark == mark]


def execute(block: Block, folder: Path, timeout: float = 120) -> str:
    """Run a block as its reader would, with this environment's commands; its stdout."""
    command = (
        [sys.executable, "-c", block.text] if block.language == "python" else ["sh", "-e", "-c", block.text]
    )
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    settings = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, check=False, cwd=folder, env=settings, capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("block", marked("run"), ids=lambda block: f"{block.page}-{block.language}")
def test_block_runs(block: Block, tmp_path: Path) -> None:
    shown = execute(block, tmp_path)
    if block.language == "sh":
        assert "7 trends" in shown
        assert re.search(r"COUNT\(\*\) +7\n", shown)


@pytest.mark.parametrize(("page", "least"), [("architecture", 20), ("sizing", 5)])
def test_values_that_a_page_computes_are_those_that_it_shows(page: str, least: int) -> None:
    found = doctest.testfile(str(ROOT / "docs" / f"{page}.md"), module_relative=False, encoding="utf-8")
    assert found.failed == 0
    assert found.attempted > least


@pytest.mark.parametrize("block", marked("run-warehouse"), ids=lambda block: block.page)
def test_block_reads_a_warehouse(block: Block, tmp_path: Path) -> None:
    results = pa.Table.from_pylist(
        [{"query": "q1", "log2": 3.0, "value": 8.0}], schema=tables.PUBLISHED.schema
    )
    deltalake.write_deltalake(tmp_path / "warehouse" / "trend_aggregates", results, partition_by=["day"])
    execute(block, tmp_path)


def said_commands() -> list[tuple[str, list[str]]]:
    """Page and words of every `hamlet ...` in the text or in a block for a terminal."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        terminal = "\n".join(
            block for language, _, block in FENCE.findall(text) if language in ("sh", "text")
        )
        lines = [
            *re.findall(r"`((?:[A-Z_]+=\S+ )*hamlet [^`]+)`", FENCE.sub("", text)),
            *terminal.splitlines(),
        ]
        for line in lines:
            words = re.search(r"(?:^|/| )hamlet ((?:[a-z]+\b).*)", line.partition("#")[0])
            if words:
                found.append((page.name, words[1].split()))
    return found


def test_every_command_that_the_docs_name_is_there_with_its_options() -> None:
    commands = {command.name: command for command in COMMANDS}
    found = said_commands()
    assert len(found) > 30
    for page, (name, *words) in found:
        assert name in commands, (page, name)
        known = {option for parameter in commands[name].params for option in parameter.opts}
        asked = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert asked <= known | {"--help", "--debug"}, (page, name)


def test_every_variable_that_the_docs_name_is_read_somewhere() -> None:
    named = {
        name for page in PAGES for name in re.findall(r"HAMLET_[A-Z_]+", page.read_text(encoding="utf-8"))
    }
    code = "".join(
        file.read_text(encoding="utf-8")
        for room in ("hamlet_core", "pipelines", "resources")
        for file in ROOT.glob(f"{room}/**/*.py")
    )
    assert len(named) > 5
    assert [name for name in sorted(named) if f'"{name}"' not in code] == []


def test_blocks_are_found() -> None:
    assert [len(marked(mark)) for mark in ("run", "run-warehouse", "run-spark")] == [4, 2, 3]


@pytest.mark.parametrize(
    "block", [b for b in blocks() if b.language == "hamlet"], ids=lambda block: block.page
)
def test_queries_of_the_docs_have_a_meaning(block: Block) -> None:
    assert hamlet_core.plan(block.text)


def test_the_language_page_shows_every_construct() -> None:
    shown = " ".join(block.text for block in blocks() if block.page == "language.md")
    for construct in (
        "SEQ(", "+", "t*", "d?", " OR ", " AND ", "NOT Pickup", "NOT SEQ(", "NEXT(", "[driver, rider]", "IN (", "BETWEEN",
        "LIKE", "IS NULL", "TIMESTAMP '", "GROUP-BY", "WITHIN", "SLIDE", "COUNT(*)", "COUNT(o)", "AVG(", "# ",
        "SEMANTICS skip-till-any-match", "SEMANTICS skip-till-next-match", "SEMANTICS contiguous", "SEMANTICS next",
        "COUNT(PARTITIONS)", "COUNT(DISJOINT)", "REACH(", "AVG(DURATION)",
        "FUNNEL checkout: view -> cart", "OR Wish w)", "NOT Leave l ->", "BY ",
    ):  # fmt: skip
        assert construct in shown, construct


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_query_of_an_example_has_its_question(path: Path) -> None:
    from pipelines.showing.story import questions

    text = path.read_text(encoding="utf-8")
    asked = questions(text)
    names = [query.name for query in hamlet_core.parse(text).queries]
    assert list(asked) == names
    assert all(question.endswith("?") for question in asked.values())


def test_the_ride_sharing_example_uses_the_whole_language_and_every_query_has_rows() -> None:
    text = (ROOT / "examples" / "ride_sharing.hamlet").read_text(encoding="utf-8")
    plans = hamlet_core.plan(text)
    results = hamlet_core.run(text, generate_stream("ridesharing", 5_000, 7))
    assert len(plans) >= 6
    assert set(results.column("query").to_pylist()) == {plan.name for plan in plans}
    functions = {aggregate.label.split("(")[0] for plan in plans for aggregate in plan.query.aggregates}
    assert functions == {"COUNT", "SUM", "AVG", "MIN", "MAX"}


@pytest.mark.needs_data
def test_the_growth_example_gives_the_known_answer(real_data: Path) -> None:
    from pipelines.reading import ColumnOptions, discover, read_all

    text = (ROOT / "examples" / "for_hire_vehicles.hamlet").read_text(encoding="utf-8")
    options = ColumnOptions(time="date", type_value="Day")
    files = discover(real_data / "fhv_daily_2015.csv")
    events, rejected, _ = read_all(files, None, options)
    schema = hamlet_core.EventSchema("date", None, "Day")
    rows = hamlet_core.run(text, events, schema=schema, arithmetic="exact").to_pylist()
    growth = [
        int(row["exact"]) for row in rows if row["query"] == "growth" and row["aggregate"] == "COUNT(*)"
    ]
    assert (rejected.num_rows, len(growth), max(growth)) == (0, 5_514, 93_939)
    assert {row["query"] for row in rows} == {plan.name for plan in hamlet_core.plan(text)}


def test_the_page_of_tables_names_every_table_and_column() -> None:
    page = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    declared = [one for one in vars(tables).values() if isinstance(one, tables.Table)]
    declared.append(tables.events_table((), ()))
    missing = [
        name
        for table in declared
        for name in (table.name, *(column.name for column in table.columns))
        if f"`{name}`" not in page
    ]
    assert len(declared) == 11
    assert missing == []
