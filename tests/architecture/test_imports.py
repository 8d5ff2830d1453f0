"""Who may import whom: the arrows of the house, read from the source; and a fresh process that proves the core."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGES = ("hamlet_core", "pipelines", "resources")
HEAVY = {"pyspark", "delta", "deltalake", "dagster", "great_expectations", "pandas", "duckdb"}

# Module (a package stands for all in it) -> what it may not import. The first part of each name decides.
FORBIDDEN = {
    "hamlet_core": {*HEAVY, "pipelines", "resources", "click", "rich"},
    "resources": {"pipelines"},
    "pipelines.reading": {*HEAVY, "pipelines.steps", "pipelines.assets"},
    "resources.storage": {*HEAVY, "pipelines"},
    "pipelines.steps": {"dagster", "pipelines.assets", "pipelines.definitions", "pipelines.cli"},
    "pipelines.checks": {
        "dagster",
        "pipelines.assets",
        "pipelines.definitions",
        "pipelines.cli",
        "pipelines.steps.execution",
    },
    "pipelines.assets": {"pipelines.definitions", "pipelines.cli"},
    "tests.oracle": {
        "hamlet_core.engines",
        "hamlet_core.pattern",
        "hamlet_core.algebra",
        "hamlet_core.template",
    },
}

# The rooms of a package from the ground up: a room imports its own row and the rows above it, nothing below.
LAYERS = {
    "hamlet_core": (
        ("errors", "progress"),
        ("threads",),
        ("instants", "language", "sharing", "windows"),
        ("table",),
        ("predicates", "streams"),
        ("pattern",),
        ("algebra", "template"),
        ("results",),
        ("engines",),
        ("execution",),
        ("online",),
        ("bench", "describe"),
    ),
    "hamlet_core.engines.hamlet": (
        ("accumulators", "equal_states", "jit"),
        ("input", "numbers"),
        ("bursts", "program"),
        ("automaton", "panes"),
        ("graphlets",),
        ("events", "arithmetics", "planning"),
        ("passes", "prefixes"),
        ("engine",),
        ("chains",),
    ),
    "pipelines.steps": (
        ("packing", "progress", "row_hashes", "slices"),
        ("layout",),
        ("ingestion",),
        ("execution",),
        ("publication",),
        ("compaction", "maintenance", "metrics", "planning", "watermark"),
        ("late",),
    ),
}


def sources(package: str) -> Iterator[tuple[str, Path]]:
    """Each module of `package` with its dotted name."""
    for path in sorted((ROOT / package.replace(".", "/")).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(module: str, path: Path) -> set[str]:
    """The dotted names that the module imports anywhere, relative ones resolved."""
    found: set[str] = set()
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return found


def is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


@pytest.mark.parametrize("package", FORBIDDEN)
def test_no_forbidden_import(package: str) -> None:
    wrong = [
        f"{module} imports {name}"
        for module, path in sources(package)
        for name in sorted(imports(module, path))
        for banned in FORBIDDEN[package]
        if is_in(name, banned)
    ]
    assert wrong == []


def test_readers_of_events_know_no_more_of_the_outside_than_where_files_are_and_what_tables_and_topics_have() -> (
    None
):
    found = {
        name
        for module, path in sources("pipelines.reading")
        for name in imports(module, path)
        if is_in(name, "resources")
        and not is_in(name, "resources.storage")
        and not is_in(name, "resources.delta_sources")
        and not is_in(name, "resources.kafka_topics")
    }
    assert found <= {"resources"}


@pytest.mark.parametrize("module", ["greta", "raw_events", "sampling", "differences"])
def test_the_reference_shares_no_step_with_the_executor(module: str) -> None:
    path = ROOT / f"pipelines/checks/{module}.py"
    read = imports(f"pipelines.checks.{module}", path)
    banned = ("pipelines.steps", "hamlet_core.table.stream", "hamlet_core.engines", "pyspark")
    assert [name for name in sorted(read) if any(is_in(name, one) for one in banned)] == []


def room(name: str, house: str) -> str | None:
    """The room of `house` to which a dotted name belongs; None if to none, or to the house itself."""
    return name.removeprefix(f"{house}.").split(".")[0] if name.startswith(f"{house}.") else None


def against_the_arrows(house: str, module: str, names: set[str]) -> list[str]:
    """What of these names the module may not import."""
    heights = {one: height for height, rooms in enumerate(LAYERS[house]) for one in rooms}
    own = room(module, house)
    if own is None:
        return []
    return [
        name for name in sorted(names) if heights.get(room(name, house) or own, len(heights)) > heights[own]
    ]


@pytest.mark.parametrize("house", LAYERS)
def test_rooms_look_one_way(house: str) -> None:
    wrong = [
        f"{module} imports {name}"
        for module, path in sources(house)
        for name in against_the_arrows(house, module, imports(module, path))
    ]
    assert wrong == []


@pytest.mark.parametrize("house", LAYERS)
def test_every_room_has_its_layer(house: str) -> None:
    rooms = [one for row in LAYERS[house] for one in row]
    assert len(rooms) == len(set(rooms))
    assert {room(module, house) for module, _ in sources(house)} - {None} == set(rooms)


@pytest.mark.parametrize(
    ("house", "module", "name", "wrong"),
    [
        ("hamlet_core", "hamlet_core.table.encode", "hamlet_core.predicates.typing", True),
        ("hamlet_core", "hamlet_core.predicates.typing", "hamlet_core.table.kinds", False),
        ("hamlet_core.engines.hamlet", "{}.numbers.arenas", "{}.bursts.state.windows_of", True),
        ("hamlet_core.engines.hamlet", "{}.bursts.state", "{}.numbers.arenas", False),
        ("hamlet_core.engines.hamlet", "{}.engine", "hamlet_core.table.stream", False),
    ],
)
def test_an_arrow_back_is_seen(house: str, module: str, name: str, wrong: bool) -> None:
    module, name = module.format(house), name.format(house)
    assert against_the_arrows(house, module, {name}) == [name] * wrong


def test_only_definitions_and_the_command_line_know_the_assets() -> None:
    # main_job is how the commands start the job of definitions.py in their own process; foreseen is a dry run of it.
    command_line = ("pipelines.cli", "pipelines.commands", "pipelines.main_job", "pipelines.foreseen")
    inside = ("pipelines.assets", "pipelines.definitions", *command_line)
    wrong = [
        f"{module} imports {name}"
        for package in PACKAGES
        for module, path in sources(package)
        if not any(is_in(module, place) for place in inside)
        for name in sorted(imports(module, path))
        if is_in(name, "pipelines.assets") or is_in(name, "pipelines.definitions")
    ]
    assert wrong == []


def test_each_package_named_here_exists() -> None:
    for package in FORBIDDEN:
        place = ROOT / package.replace(".", "/")
        assert place.is_dir() or place.with_suffix(".py").is_file(), package


def test_a_fresh_process_imports_the_core_without_spark_dagster_delta_or_a_compiler() -> None:
    slow = HEAVY | {"numba", "lark", "pyarrow.compute"}  # loaded where they are used
    program = f"import hamlet_core, sys; print(sorted(set(sys.modules) & {slow!r}))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
