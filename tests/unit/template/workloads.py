"""Workloads in a few words: `analysed("SEQ(A, B+)", "SEQ(C, B+)")` or, with clauses, (pattern, clauses)."""

from __future__ import annotations

from hamlet_core.execution import parse
from hamlet_core.pattern.meaning import AnalysedQuery, analyse_workload


def query(pattern: str, returns: str = "COUNT(*)", clauses: str = "", window: str = "10 s") -> str:
    return f"RETURN {returns} PATTERN {pattern} {clauses} WITHIN {window}"


def analysed(*queries: str) -> tuple[AnalysedQuery, ...]:
    """Each a pattern, or a whole query; they are called q1, q2, ..."""
    texts = (text if text.startswith("RETURN") else query(text) for text in queries)
    return analyse_workload(parse("\n".join(f"q{place}: {text}" for place, text in enumerate(texts, 1))))
