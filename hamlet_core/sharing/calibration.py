"""The file with the constants of this machine: where it is, what it must say, and the constants in use.

`hamlet calibrate` writes it. Constants price plans and decide nothing else: tasks that read different ones, or none,
give the same answers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

from hamlet_core.errors import StreamError
from hamlet_core.sharing.costs import Constants

VARIABLE = "HAMLET_COST_MODEL"
"""Environment variable with the path of the file; empty: the constants that are shipped."""

_NAMES = tuple(one.name for one in fields(Constants))


def constants_file() -> Path | None:
    """Where the file is, or would be written; None: there is no place for it, or none is wanted."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        return Path(given) if given else None
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(folder):  # noqa: PTH117 - a text
        folder = os.path.expanduser("~/.config")  # noqa: PTH111 - never raises
    return Path(folder, "hamlet", "cost_model.json") if os.path.isabs(folder) else None  # noqa: PTH117 - a text


def constants_in_use() -> Constants:
    """Those of the file, read once a process; those that are shipped where there is none.

    Raises StreamError E219 if the file is damaged, or if the variable names one that is not there.
    """
    path = constants_file()
    if path is None or (VARIABLE not in os.environ and not os.path.isfile(path)):  # noqa: PTH113 - never raises
        return Constants()
    return read_constants(path)


@cache
def read_constants(path: Path) -> Constants:
    """The constants that a file names; raises StreamError E219."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise _refused(path, error.strerror or str(error), "a file that can be read") from error
    except (ValueError, RecursionError) as error:
        raise _refused(path, f"no JSON ({error})", "what `hamlet calibrate` writes") from error
    known = content.get("constants") if isinstance(content, dict) else None
    if not isinstance(known, dict):
        raise _refused(path, _shown(content), 'an object with "constants", an object of numbers by name')
    wrong = [
        *(f"no {name}" for name in _NAMES if name not in known),
        *(f"the unknown name {name}" for name in known if name not in _NAMES),
    ]
    if wrong:
        raise _refused(path, ", ".join(wrong), f"exactly {', '.join(_NAMES)}")
    return Constants(**{name: _number(path, name, known[name]) for name in _NAMES})


def write_constants(path: Path, constants: Constants, notes: Mapping[str, str]) -> None:
    """Write a file for `read_constants`, whole or not at all; `notes` are for people. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    content = {**notes, "unit": "nanoseconds", "constants": asdict(constants)}
    try:
        beside.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    read_constants.cache_clear()


def _number(path: Path, name: str, value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or value < 0 or value > _MOST or not isfinite(value):
        raise _refused(path, f"{_shown(value)} for {name}", "a finite number of nanoseconds, 0 or more")
    return float(value)


_MOST = 1e18
"""More than any step takes; a double holds it."""


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) < 40 else f"{text[:40]}..."


def _refused(path: Path, came: str, expected: str) -> StreamError:
    hint = (
        f"`hamlet calibrate` writes it anew; {VARIABLE} set to nothing means the constants that are shipped"
    )
    return StreamError(
        f"cost constants in {path}: {came}, where {expected} was expected", code="E219", hint=hint
    )
