"""What the grammar alone cannot refuse: nesting beyond the limit, and an equivalence inside an expression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hamlet_core.errors import QuerySyntaxError
from hamlet_core.language import syntax
from hamlet_core.language.codes import SyntaxCode
from hamlet_core.language.complaints import too_deep
from hamlet_core.language.limits import MAX_NESTING


def inspect(query: syntax.Query, text: str) -> None:
    """Raise QuerySyntaxError for the first fault; a loop, since the tree may be too deep for recursion."""
    waiting: list[tuple[Any, int]] = [(part, 1) for part in (query.pattern, *query.where)]
    while waiting:
        node, depth = waiting.pop()
        if depth > MAX_NESTING:
            raise too_deep(text, node.span or (1, 1))
        for child in _children(node):
            if isinstance(child, syntax.Equivalence):
                raise _nested(child, text)
            waiting.append((child, depth + 1))


def _children(node: Any) -> Iterator[Any]:
    for name in node.__slots__:
        value = getattr(node, name)
        for item in value if isinstance(value, tuple) else (value,):
            if hasattr(item, "span"):
                yield item


def _nested(equivalence: syntax.Equivalence, text: str) -> QuerySyntaxError:
    line, column = equivalence.span or (1, 1)
    return QuerySyntaxError(
        "an equivalence stands at the top of WHERE only, not inside an expression",
        code=SyntaxCode.NESTED_EQUIVALENCE.value,
        hint="join it with AND, outside parentheses, OR and NOT: WHERE [a, b] AND ...",
        line=line,
        column=column,
        text=text,
    )
