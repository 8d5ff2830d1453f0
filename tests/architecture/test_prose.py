"""The prose names only what exists: paths, make targets, modules and symbols in backticks, linked files."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

PROSE = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
# A path of ours: starts in one of our folders, or is a file at the top.
FOLDERS = ("hamlet_core", "pipelines", "resources", "tests", "docs", "examples", ".ci")
# A module in a room of the compiled engine is named from there.
ENGINE = ROOT / "hamlet_core/engines/hamlet"
SYMBOL = re.compile(r"(?:hamlet_core|pipelines|resources)(?:\.\w+)+")
TARGET = re.compile(r"\bmake ([a-z]+)\b")


def in_code(path: Path) -> list[str]:
    """What stands in backticks, and the lines of code blocks."""
    text = path.read_text(encoding="utf-8")
    blocks = re.findall(r"```.*?\n(.*?)```", text, flags=re.DOTALL)
    indented = re.findall(r"^    (\S.*)$", text, flags=re.MULTILINE)
    return (
        CODE.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL))
        + [line for block in blocks for line in block.splitlines()]
        + indented
    )


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def exists(name: str) -> bool:
    return any(ROOT.glob(name.rstrip("/"))) if "*" in name else (ROOT / name.rstrip("/")).exists()


def symbol_exists(name: str) -> bool:
    """Whether a dotted name is a module of ours or an attribute of one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("path", PROSE, ids=lambda path: str(path.relative_to(ROOT)))
def test_prose_names_what_exists(path: Path) -> None:
    code = in_code(path)
    words = [word for line in code for word in re.findall(r"[\w./*-]+", line)]
    paths = {word for word in words if "/" in word and word.split("/")[0] in FOLDERS}
    modules = {word for word in words if word.endswith(".py") and (ENGINE / word.split("/")[0]).is_dir()}
    symbols = {name for line in code for name in SYMBOL.findall(line) if not (ROOT / name).exists()}
    targets = {target for line in code for target in TARGET.findall(line)}
    links = {link for link in LINK.findall(path.read_text(encoding="utf-8")) if "://" not in link}
    wrong = [
        *(f"path {name}" for name in sorted(paths) if not exists(name)),
        *(f"module {name}" for name in sorted(modules) if not (ENGINE / name).is_file()),
        *(f"symbol {name}" for name in sorted(symbols) if not symbol_exists(name)),
        *(f"make {target}" for target in sorted(targets - make_targets())),
        *(f"link {link}" for link in sorted(links) if not (path.parent / link).exists()),
    ]
    assert wrong == []


def test_the_prose_is_found() -> None:
    assert {path.name for path in PROSE} >= {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("resources.java.find_java", True),
        ("resources.java", True),
        ("resources.java.find_jvm", False),
        ("resources.no_such_module", False),
    ],
)
def test_the_finder_of_symbols_can_say_no(name: str, there: bool) -> None:
    assert symbol_exists(name) is there


def test_each_fault_that_the_page_of_operations_names_has_a_test() -> None:
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    table = page.partition("| fault | what one sees | what to do | test |\n")[2].partition("\n\n")[0]
    rows = [line.strip("|").split(" | ") for line in table.splitlines()[1:]]
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    named = [re.findall(r"`(test_\w+)`", row[-1]) for row in rows]
    assert len(rows) > 40
    assert [row for row, names in zip(rows, named, strict=True) if len(row) != 4 or not names] == []
    assert [name for names in named for name in names if f"def {name}(" not in code] == []
