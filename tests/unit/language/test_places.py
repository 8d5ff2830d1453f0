"""Lines and columns count code points from 1, whatever the text is made of."""

from __future__ import annotations

import pytest

from hamlet_core.errors import QuerySyntaxError
from hamlet_core.language import parse_syntax

HEAD = "RETURN COUNT(*) PATTERN A a "
BAD = {
    "plain": (HEAD + "$", 1, 29),
    "after an emoji": (HEAD + "WHERE a.x = '\U0001f600\U0001f600' $", 1, 46),
    "after a combining accent in a string": (HEAD + "WHERE a.x = 'e\u0301' $", 1, 46),
    "after a flag of two code points": (HEAD + "WHERE a.x = '\U0001f1e9\U0001f1ea' $", 1, 46),
    "after a tab": ("\t" + HEAD + "$", 1, 30),
    "after LF": (HEAD + "\n $", 2, 2),
    "after CRLF": (HEAD + "\r\n $", 2, 2),
    "after CR": (HEAD + "\r $", 2, 2),
    "after CRLF and LF": ("\r\n\n" + HEAD + "\r\n\r\n$", 5, 1),
    "after a line separator": (HEAD + "\u2028$", 2, 1),
    "after a string of two lines": (HEAD + "WHERE a.x = 'b\nc' $", 2, 4),
    "after a comment": ("-- \U0001f600 comment $\n" + HEAD + "# more $\n$", 3, 1),
    "after a byte order mark": ("\ufeff" + HEAD + "$", 1, 30),
}
SPACES = ["\u00a0", "\u3000", "\t", "\v", "\ufeff"]


@pytest.mark.parametrize("name", BAD)
def test_place_of_an_error(name):
    text, line, column = BAD[name]
    with pytest.raises(QuerySyntaxError) as caught:
        parse_syntax(text)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize("end", ["", "\n", "\n\n  ", "  -- the end"])
def test_an_early_end_is_where_the_last_word_ends(end):
    with pytest.raises(QuerySyntaxError) as caught:
        parse_syntax("RETURN COUNT(*)\nPATTERN A a" + end)
    assert (caught.value.line, caught.value.column) == (2, 12)
    str(caught.value)


@pytest.mark.parametrize("space", SPACES)
def test_white_space_of_any_kind_separates(space):
    assert parse_syntax(HEAD.replace(" ", space) + "WITHIN 5 s").queries


def test_spans():
    (query,) = parse_syntax(
        "q: RETURN g, COUNT(*), REACH(a), COUNT(PARTITIONS), AVG(DURATION)\n PATTERN (SEQ(A a+, NOT B) OR C)"
        "\n WHERE [u] AND (a.x + 1) * 2 < 3 WITHIN 5 s"
    ).queries
    assert query.span == (1, 1)
    assert [item.span for item in query.returns] == [(1, 11), (1, 14), (1, 24), (1, 34), (1, 53)]
    either = query.pattern
    sequence, other = either.branches
    plus, absent = sequence.parts
    assert [either.span, sequence.span, plus.span, plus.body.span] == [(2, 10), (2, 11), (2, 15), (2, 15)]
    assert [absent.span, absent.body.span, other.span] == [(2, 21), (2, 25), (2, 31)]
    equivalence, comparison = query.where
    assert [equivalence.span, comparison.span] == [(3, 8), (3, 16)]
    assert [comparison.left.left.span, comparison.right.span] == [(3, 17), (3, 32)]


def test_spans_take_no_part_in_equality():
    text = "RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE A.x < 3 WITHIN 5 s"
    assert parse_syntax(text) == parse_syntax("\n\n" + text.replace(" ", "  "))
