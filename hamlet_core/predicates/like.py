"""LIKE: `%` is any text (also none, also line breaks), `_` one code point; no escape; the whole text must match."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator


def matcher(pattern: str) -> Callable[[str], bool]:
    """The test for one pattern; its time is at most length of text times length of pattern.

    >>> test = matcher("P%l_")
    >>> test("Pools"), test("Pool")
    (True, False)
    """
    first, *rest = (_piece(piece) for piece in pattern.split("%"))
    if not rest:
        return lambda text: first.fullmatch(text) is not None
    *middle, last = rest
    ending = len(pattern) - pattern.rfind("%") - 1

    def matches(text: str) -> bool:
        start = first.match(text)
        if start is None:
            return False
        place = start.end()
        for found in _search(middle, text, place):
            if found is None:
                return False
            place = found
        return len(text) - ending >= place and last.match(text, len(text) - ending) is not None

    return matches


def _piece(piece: str) -> re.Pattern[str]:
    """The text between two `%`; it has a fixed length, so the leftmost place is always the best one."""
    return re.compile("".join("." if sign == "_" else re.escape(sign) for sign in piece), re.DOTALL)


def _search(pieces: list[re.Pattern[str]], text: str, place: int) -> Iterator[int | None]:
    """Where each piece ends at its leftmost place after the piece before it."""
    for piece in pieces:
        found = piece.search(text, place)
        if found is None:
            yield None
            return
        place = found.end()
        yield place
