"""Expressions over events: kinds of values, type checks, and compilation to closures (SEMANTICS 2)."""
