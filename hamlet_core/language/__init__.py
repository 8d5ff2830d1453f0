"""Workload text and its frozen syntax tree, both ways: `parser` reads, `writer` writes, `builder` builds."""

from __future__ import annotations

from hamlet_core.language.parser import parse_syntax
from hamlet_core.language.writer import write_expression, write_pattern, write_query, write_workload

__all__ = ["parse_syntax", "write_expression", "write_pattern", "write_query", "write_workload"]
