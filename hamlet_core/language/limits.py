"""Limits of a text, so that no text can exhaust the machine that reads it."""

MAX_NESTING = 100
"""Deepest nesting of parentheses, of a pattern and of an expression."""
