"""Errors as data: what is refused, and exactly what it says. `python -m tests.golden.refusals` records them anew."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

import hamlet_core
from hamlet_core import EventSchema, HamletError
from tests.golden.bad_inputs import INPUTS

HERE = Path(__file__).parent
QUERIES = HERE / "bad_queries.toml"
INPUT_ERRORS = HERE / "bad_inputs.toml"
HEADER = "# Recorded by `python -m tests.golden.refusals`; read the difference before it is committed.\n"

Entry = dict[str, Any]


def queries() -> list[Entry]:
    """The bad queries: name, text, perhaps columns (name -> Arrow type) and time_unit, and the error's parts."""
    return tomllib.loads(QUERIES.read_text("utf-8"))["query"]


def input_errors() -> dict[str, Entry]:
    """Name of a bad input -> the parts of its error."""
    return tomllib.loads(INPUT_ERRORS.read_text("utf-8"))


def ask(entry: Mapping[str, Any]) -> None:
    """Parse the text; with columns, run it on an empty table of them."""
    if "columns" not in entry:
        hamlet_core.parse(entry["text"])
        return
    fields = {name: pa.type_for_alias(kind) for name, kind in entry["columns"].items()}
    schema = EventSchema(time_unit=entry.get("time_unit", "s"))
    hamlet_core.run(entry["text"], pa.schema(fields).empty_table(), schema=schema)


def error_of(act: Callable[[], object]) -> Entry:
    """The parts of the error that `act` raises, as they are recorded; empty if it raises none."""
    try:
        act()
    except HamletError as error:
        kind = {"class": type(error).__name__, "code": error.code}
        place = {"line": error.line, "column": error.column} if hasattr(error, "line") else {}
        return {**kind, **place, "message": error.message, "hint": error.hint}
    return {}


def _toml(entry: Mapping[str, Any]) -> Iterable[str]:
    for key, value in entry.items():
        if isinstance(value, dict):
            pairs = ", ".join(f"{name} = {json.dumps(kind)}" for name, kind in value.items())
            yield f"{key} = {{ {pairs} }}"
        elif key == "text":
            yield f"text = '''\n{value}'''" if "'''" not in value else f"text = {json.dumps(value)}"
        else:
            yield f"{key} = {json.dumps(value, ensure_ascii=False)}"


def record() -> None:
    """Write down what every bad query and bad input says now."""
    given = ("name", "text", "columns", "time_unit")
    lines = [HEADER]
    for entry in queries():
        kept = {key: entry[key] for key in given if key in entry}
        lines += ["[[query]]", *_toml({**kept, **error_of(lambda entry=entry: ask(entry))}), ""]
    QUERIES.write_text("\n".join(lines), "utf-8")
    lines = [HEADER]
    for name, act in INPUTS.items():
        lines += [f"[{json.dumps(name)}]", *_toml(error_of(act)), ""]
    INPUT_ERRORS.write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    record()
