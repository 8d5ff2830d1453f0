"""Syntax trees changed throughout: the same query of other types, or of other times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

from hamlet_core.language.syntax import Atom, Attribute, Comparison, InList, Literal, Timestamp


def mapped(node: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with `change` applied to every node, children first."""
    if isinstance(node, tuple):
        return tuple(mapped(item, change) for item in node)
    if is_dataclass(node) and not isinstance(node, Enum):
        parts = {field.name: mapped(getattr(node, field.name), change) for field in fields(node)}
        return change(replace(node, **parts))
    return node


def renamed_types(tree: Any, new: Callable[[str], str]) -> Any:
    """Every type renamed, also where a predicate compares one with `a.type`; aliases stay."""

    def change(node: Any) -> Any:
        match node:
            case Atom(type=kind):
                return replace(node, type=new(kind))
            case InList(operand=Attribute(name="type"), items=items):
                return replace(node, items=tuple(Literal(new(item.value)) for item in items))
        return node

    return mapped(tree, change)


def moments(tree: Any, new: Callable[[Any], Any]) -> Any:
    """Every literal that stands for a point in time, as in `a.time >= 3`, replaced."""

    def change(node: Any) -> Any:
        match node:
            case Comparison(left=Attribute(name="time"), right=Literal(value=value)):
                return replace(node, right=Literal(new(value)))
        return node

    return mapped(tree, change)


def as_timestamps(tree: Any) -> Any:
    """Points in time written as seconds, rewritten as timestamps."""
    return moments(tree, lambda seconds: Timestamp(seconds * 1_000_000))
