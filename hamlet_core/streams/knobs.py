"""Knobs by name: do the values that someone gives fit the fields of a description?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from hamlet_core.errors import StreamError


def check_knobs(name: str, description: type, knobs: Mapping[str, Any], synonyms: Sequence[str] = ()) -> None:
    """Raise `StreamError` E290 for a knob that the description has not, or a value of another class than its default."""
    defaults = {field.name: field.default for field in fields(description)}
    for knob, value in knobs.items():
        if knob not in defaults:
            known = ", ".join([*(field for field in defaults if field not in ("events", "seed")), *synonyms])
            raise StreamError(f"{name} has no {knob}", code="E290", hint=f"it has {known}")
        wanted = _wanted(defaults[knob])
        if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
            raise StreamError(
                f"{knob} of {name} cannot be {value!r}", code="E290", hint=_HINTS.get(wanted[0], "")
            )


_HINTS: dict[type, str] = {int: "give a whole number", float: "give a number", bool: "give true or false"}


def _wanted(default: object) -> tuple[type, ...]:
    """The classes of values that fit a field with this default."""
    match default:
        case bool():
            return (bool,)
        case float():
            return (float, int)
        case tuple():
            return (tuple, list)
    return (type(default),)
