"""Automata as text, so that a test shows what it means: `start a`, `a b`, `a b no 0`, `b end`."""

from __future__ import annotations

from hamlet_core.pattern.automaton import Automaton, Gap


def drawn(automaton: Automaton) -> set[str]:
    """Every start, edge and end by aliases and its gap: `no 0+1` is neither N0 nor N1."""
    alias = [position.alias for position in automaton.positions]
    lines = {f"start {alias[start.position]}{_gap(start.gap)}" for start in automaton.starts}
    lines |= {f"{alias[edge.source]} {alias[edge.target]}{_gap(edge.gap)}" for edge in automaton.edges}
    return lines | {f"{alias[end.position]} end{_gap(end.gap)}" for end in automaton.ends}


def _gap(gap: Gap) -> str:
    return " no " + "+".join(map(str, sorted(gap))) if gap else ""


def lines(text: str) -> set[str]:
    """The lines of an expectation, separated by commas."""
    return {line.strip() for line in text.split(",")}
