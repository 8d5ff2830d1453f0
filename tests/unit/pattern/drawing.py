"""Automata as text, so that a test shows what it means: `start a`, `a b`, `a b no 0`, `b end`."""

from __future__ import annotations

from hamlet_core.pattern.automaton import CLEAN, Automaton, Gaps


def drawn(automaton: Automaton) -> set[str]:
    """Every start, edge and end by aliases, with its gap alternatives: `no 0|1+2` is N0, or both N1 and N2."""
    alias = [position.alias for position in automaton.positions]
    lines = {f"start {alias[start.position]}{_gap(start.gaps)}" for start in automaton.starts}
    lines |= {f"{alias[edge.source]} {alias[edge.target]}{_gap(edge.gaps)}" for edge in automaton.edges}
    return lines | {f"{alias[end.position]} end{_gap(end.gaps)}" for end in automaton.ends}


def _gap(gaps: Gaps) -> str:
    if gaps == CLEAN:
        return ""
    return " no " + "|".join("+".join(map(str, sorted(gap))) or "-" for gap in gaps)


def lines(text: str) -> set[str]:
    """The lines of an expectation, separated by commas."""
    return {line.strip() for line in text.split(",")}
