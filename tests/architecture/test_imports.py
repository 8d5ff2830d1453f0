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
        "pipelines.steps.execute",
        "pipelines.steps.file_tasks",
        "pipelines.steps.merging",
    },
    "pipelines.assets": {"pipelines.definitions", "pipelines.cli"},
    "tests.oracle": {
        "hamlet_core.engines",
        "hamlet_core.pattern",
        "hamlet_core.algebra",
        "hamlet_core.template",
    },
}

# The rooms of the core from the ground up: a room imports its own row and the rows above it, nothing below.
LAYERS = (
    ("errors",),
    ("arrow_arrays", "instants", "sharing", "windows", "work"),
    ("language",),
    ("predicates", "columns", "encoded", "event_schema", "events", "streams"),
    ("pattern",),
    ("algebra",),
    ("decisions", "folded", "results", "template", "totals"),
    ("engines",),
    ("execution",),
    ("calibrating", "explain", "kernels_alone", "sharing_text", "why"),
)
LAYER = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}


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


def test_readers_of_events_know_no_more_of_the_outside_than_where_files_are() -> None:
    found = {
        name
        for module, path in sources("pipelines.reading")
        for name in imports(module, path)
        if is_in(name, "resources") and not is_in(name, "resources.storage")
    }
    assert found <= {"resources"}


@pytest.mark.parametrize("module", ["greta", "raw_events", "sampling", "differences"])
def test_the_reference_shares_no_step_with_the_executor(module: str) -> None:
    path = ROOT / f"pipelines/checks/{module}.py"
    read = imports(f"pipelines.checks.{module}", path)
    banned = ("pipelines.steps", "hamlet_core.encoded", "hamlet_core.engines", "pyspark")
    assert [name for name in sorted(read) if any(is_in(name, one) for one in banned)] == []


def test_the_rooms_of_the_core_look_one_way() -> None:
    wrong = {
        f"{module} imports {name}"
        for module, path in sources("hamlet_core")
        for name in imports(module, path)
        if name.startswith("hamlet_core.") and module != "hamlet_core"
        if LAYER[name.split(".")[1]] > LAYER[module.split(".")[1]]
    }
    assert sorted(wrong) == []


def test_every_room_of_the_core_has_its_layer() -> None:
    rooms = {module.split(".")[1] for module, _ in sources("hamlet_core") if "." in module}
    assert rooms == LAYER.keys()


def test_only_definitions_and_the_command_line_know_the_assets() -> None:
    # main_job is how the commands start the job of definitions.py in their own process.
    command_line = ("pipelines.cli", "pipelines.commands", "pipelines.main_job")
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


def test_no_module_is_longer_than_400_lines() -> None:
    long = [
        module
        for package in PACKAGES
        for module, path in sources(package)
        if len(path.read_text(encoding="utf-8").splitlines()) > 400
    ]
    assert long == []
