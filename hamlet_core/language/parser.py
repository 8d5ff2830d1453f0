"""Workload text to the frozen syntax tree (SEMANTICS 2); the grammar is `grammar.lark` beside this file."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any

from hamlet_core.language import syntax

_LOADING = Lock()
"""Python cannot load one package in two threads at once, if they begin at different ends of it."""


@cache
def _grammar() -> Any:
    """The LALR parser, built at the first use: building it takes longer than reading a text."""
    from lark import Lark

    from hamlet_core.language.words import WordLexer

    return Lark.open(
        "grammar.lark",
        rel_to=__file__,
        parser="lalr",
        lexer=WordLexer,
        propagate_positions=True,
        maybe_placeholders=True,
    )


def parse_syntax(text: str) -> syntax.Workload:
    """Read a workload; its nodes carry their places in the text.

    Raises QuerySyntaxError where the text fits no rule, and QueryMeaningError for a window or slide that is not
    longer than zero and for a label given twice.

    >>> parse_syntax("RETURN COUNT(*) PATTERN Day d+ WITHIN 4 weeks")
    Traceback (most recent call last):
    hamlet_core.errors.QuerySyntaxError: [E014] line 1, column 41: unknown unit of time weeks
      RETURN COUNT(*) PATTERN Day d+ WITHIN 4 weeks
                                              ^
      hint: write 7 days for each week
    """
    with _LOADING:
        from lark.exceptions import VisitError

        from hamlet_core.language.inspection import inspect
        from hamlet_core.language.scanning import scan
        from hamlet_core.language.shaping import Shaping

        grammar = _grammar()
    tree = grammar.parse(scan(text))
    try:
        queries = Shaping(text).transform(tree)
    except VisitError as error:
        raise error.orig_exc from None
    for query in queries:
        inspect(query, text)
    return syntax.Workload(queries, text)
