"""Expressions over events: type checks, and compilation to closures (SEMANTICS 2)."""
