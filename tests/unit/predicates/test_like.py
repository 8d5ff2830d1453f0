"""LIKE against a matcher that tries everything."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet_core.predicates.like import matcher


def brute(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(brute(pattern[1:], text[skip:]) for skip in range(len(text) + 1))
    return bool(text) and pattern[0] in ("_", text[0]) and brute(pattern[1:], text[1:])


@given(st.text("ab%_", max_size=8), st.text("abc", max_size=8))
def test_like_is_what_trying_everything_finds(pattern: str, text: str) -> None:
    assert matcher(pattern)(text) is brute(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("", "", True),
        ("", "a", False),
        ("%", "", True),
        ("%", "line\nbreak", True),
        ("line_break", "line\nbreak", True),
        ("a", "a\n", False),
        ("_", "😀", True),
        ("__", "😀", False),
        ("_", "e\u0301", False),
        ("a.c", "abc", False),
        ("a\\%", "a\\b", True),
        ("Pool", "pool", False),
        ("ab%ba", "aba", False),
        ("ab%ba", "abba", True),
        ("%a_", "aaa", True),
        ("%_a%", "a", False),
    ],
)
def test_corners(pattern: str, text: str, expected: bool) -> None:
    assert matcher(pattern)(text) is expected


def test_many_percents_stay_fast() -> None:
    test = matcher("%a" * 40 + "%b")
    start = time.perf_counter()
    assert not test("a" * 20_000)
    assert time.perf_counter() - start < 1, "a backtracking matcher would never end"
