"""Three-valued truth and text for all rows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hamlet_core.language.syntax import ComparisonOperator
from hamlet_core.predicates.comparing import COMPARISONS
from hamlet_core.predicates.vectors import Constant, Mask, both
from hamlet_core.table.kinds import Kind


@dataclass(frozen=True, slots=True)
class Truth:
    """Where a condition is TRUE, and where FALSE (None: everywhere else); in other rows it is NULL."""

    yes: Mask
    no: Mask | None = None

    @property
    def false(self) -> Mask:
        """Where the condition is FALSE."""
        return ~self.yes if self.no is None else self.no


@dataclass(frozen=True, slots=True)
class Texts:
    """A word per row; where `valid` is not, the code is that of no word."""

    codes: npt.NDArray[np.int32]
    words: list[str]
    valid: Mask | None
    kind: Kind = Kind.TEXT


def where_valid(yes: Mask, valid: Mask | None) -> Truth:
    """A condition that is NULL where `valid` is not."""
    return Truth(yes) if valid is None else Truth(yes & valid, ~yes & valid)


def both_hold(left: Truth, right: Truth) -> Truth:
    """AND."""
    yes = left.yes & right.yes
    return Truth(yes, None if left.no is None and right.no is None else left.false | right.false)


def one_holds(left: Truth, right: Truth) -> Truth:
    """OR."""
    yes = left.yes | right.yes
    return Truth(yes, None if left.no is None and right.no is None else left.false & right.false)


def opposite_of(truth: Truth) -> Truth:
    """NOT."""
    return Truth(truth.false, None if truth.no is None else truth.yes)


def looked_up(truths: Iterable[bool | None], codes: npt.NDArray[Any]) -> Truth:
    """The truth of each row's code."""
    listed = list(truths)
    yes, no = (np.array([truth is one for truth in listed], np.bool_) for one in (True, False))
    return Truth(np.take(yes, codes), np.take(no, codes) if None in listed else None)


def by_word(texts: Texts, test: Callable[[str], bool]) -> Truth:
    """A condition on text, tested once per word."""
    truths = [test(word) for word in texts.words]
    return looked_up(truths if texts.valid is None else [*truths, None], texts.codes)


def compare_text(operator: ComparisonOperator, left: Any, right: Any) -> Truth:
    """Text by code points: against a constant once per word, between columns by rank among all words."""
    test = COMPARISONS[operator]
    if isinstance(right, Constant):
        return by_word(left, lambda word: test(word, right.value))
    if isinstance(left, Constant):
        return by_word(right, lambda word: test(left.value, word))
    ranks = {word: rank for rank, word in enumerate(sorted({*left.words, *right.words}))}
    x, y = (np.array([*(ranks[word] for word in side.words), 0])[side.codes] for side in (left, right))
    return where_valid(test(x, y), both(left.valid, right.valid))
