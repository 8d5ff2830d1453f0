r"""Text that may hold anything, for a terminal: what would steer the terminal, or turn text around, is shown escaped."""

from __future__ import annotations

_KEPT = "\n\t"
_STEER = (*range(0x20), *range(0x7F, 0xA0))
"""Control characters: C0, DEL and C1."""
_TURN = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Embeddings, overrides and isolates of right-to-left text."""
_BREAK = (0x2028, 0x2029)
"""Separators of lines and paragraphs."""

_ESCAPES = {code: f"\\u{code:04x}" for code in (*_STEER, *_TURN, *_BREAK) if chr(code) not in _KEPT}


def visible(text: str) -> str:
    r"""The text with those characters as JSON escapes them, so that JSON stays the same JSON; ends of lines and tabs stay.

    >>> print(visible("\x1b[2J\u202eevil"))
    \u001b[2J\u202eevil
    """
    return text.translate(_ESCAPES)
