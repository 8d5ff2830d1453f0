"""SQL's three-valued logic: TRUE, FALSE and NULL as True, False and None."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

Truth: TypeAlias = bool | None


def all_of(truths: Iterable[Truth]) -> Truth:
    """AND: FALSE if any is FALSE, else NULL if any is NULL; reads no further than the first FALSE.

    >>> all_of([True, None]), all_of([None, False]), all_of([])
    (None, False, True)
    """
    result: Truth = True
    for truth in truths:
        if truth is False:
            return False
        if truth is None:
            result = None
    return result


def any_of(truths: Iterable[Truth]) -> Truth:
    """OR: TRUE if any is TRUE, else NULL if any is NULL; reads no further than the first TRUE.

    >>> any_of([False, None]), any_of([None, True]), any_of([])
    (None, True, False)
    """
    result: Truth = False
    for truth in truths:
        if truth:
            return True
        if truth is None:
            result = None
    return result


def negate(truth: Truth) -> Truth:
    """NOT: NULL stays NULL.

    >>> negate(True), negate(None)
    (False, None)
    """
    return None if truth is None else not truth
