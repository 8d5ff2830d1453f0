"""Workload text and its frozen syntax tree, both ways: `parser` reads, `writer` writes, `builder` builds."""

from __future__ import annotations

from hamlet_core.language.parser import parse_syntax

__all__ = ["parse_syntax"]
