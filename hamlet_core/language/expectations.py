"""What the grammar could take next, in the words of its user."""

from __future__ import annotations

from collections.abc import Iterable

from hamlet_core.language.acceptance import END

_ARITHMETIC = ("PLUS", "MINUS", "STAR", "SLASH", "PERCENT")
_NAME = ("NAME", "QUOTED")
_VALUE = ("NUMBER", "SIGN", "MINUS", "LPAR", "STRING", "TRUE", "FALSE", "NULL", "TIMESTAMP", "NEXT", *_NAME)
_PHRASES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    # the terminal that tells, what to say, and the terminals that this covers
    ("_ARROW", "->", ("_ARROW",)),
    ("SEQ", "a pattern", ("SEQ", "LPAR", "NOT", *_NAME)),
    ("LSQB", "a condition", ("LSQB", "NOT", *_VALUE)),
    ("NEXT", "a value", ("NOT", *_VALUE)),
    ("FUNCTION", "an aggregate or an attribute", ("FUNCTION", "COUNT", *_NAME)),
    (
        "COMPARISON",
        "a comparison",
        ("COMPARISON", "IN", "BETWEEN", "IS", "LIKE", "NOT", "UNIT", *_ARITHMETIC),
    ),
    ("SLASH", "", ("UNIT", *_ARITHMETIC)),
    ("QMARK", "", ("PLUS", "STAR", "QMARK")),
    ("STRING", "a string in single quotes", ("STRING",)),
    ("NUMBER", "a length of time", ("NUMBER", "SIGN")),
    ("UNIT", "a unit of time", ("UNIT",)),
    ("STAR", "*", ("STAR",)),
    ("DURATION", "an attribute of an alias or DURATION", ("DURATION", *_NAME)),
    ("NAME", "a name", _NAME),
    ("COMMA", "a comma", ("COMMA",)),
    ("DOT", "a point and an attribute", ("DOT",)),
    ("LPAR", "(", ("LPAR",)),
    ("RPAR", ")", ("RPAR",)),
    ("RSQB", "]", ("RSQB",)),
    ("COLON", "a colon", ("COLON",)),
    ("PATTERN", "PATTERN", ("PATTERN",)),
    ("AND", "AND", ("AND",)),
    ("OR", "OR", ("OR",)),
    ("IN", "IN, BETWEEN or LIKE", ("IN", "BETWEEN", "LIKE")),
    ("NOT", "NOT", ("NOT",)),
    ("NULL", "NULL", ("NULL",)),
    ("MODE", "a matching mode", ("MODE",)),
    ("SEMANTICS", "SEMANTICS", ("SEMANTICS",)),
    ("WHERE", "WHERE", ("WHERE",)),
    ("_GROUP_BY", "GROUP-BY", ("_GROUP_BY",)),
    ("WITHIN", "WITHIN", ("WITHIN", "WINDOW")),
    ("SLIDE", "SLIDE", ("SLIDE",)),
    ("BY", "BY", ("BY",)),
    ("RETURN", "RETURN", ("RETURN",)),
    ("FUNNEL", "FUNNEL", ("FUNNEL",)),
    ("LABEL", "a label", ("LABEL",)),
    (END, "the end of the text", (END,)),
)


def expected(accepted: Iterable[str]) -> str:
    """A phrase for a set of terminals.

    >>> expected({"COMMA", "RPAR", "PLUS", "STAR", "QMARK", "NAME", "QUOTED"})
    'a name, a comma or )'
    """
    rest, phrases = set(accepted), list[str]()
    for sign, phrase, covered in _PHRASES:
        if sign in rest:
            rest -= set(covered)
            phrases += [phrase] if phrase else []
    *most, last = phrases or ["nothing"]
    return f"{', '.join(most)} or {last}" if most else last
