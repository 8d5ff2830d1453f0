"""The stable codes of what can be wrong with a text, each with the sentence that documents it."""

from __future__ import annotations

from enum import Enum
from typing import Self


class SyntaxCode(Enum):
    """Why a text is no workload; `value` is the stable code, `meaning` its one-line description."""

    EMPTY = "E001", "The text holds no query."
    STRAY_CHARACTER = "E002", "A character that has no place in the language."
    OPEN_STRING = "E003", "A string, or a name in double quotes, is not closed."
    EMPTY_NAME = "E004", "A name in double quotes has no characters."
    BROKEN_TEXT = "E005", "A lone surrogate: half of a character, which no file can hold."
    UNEXPECTED = "E006", "A word or sign at a place where the grammar has none like it."
    TEXT_ENDS = "E007", "The text ends within a query."
    WITHIN_MISSING = "E008", "A query without a WITHIN clause."
    CLAUSE_ORDER = "E009", "A clause comes too early, too late or twice."
    UNKNOWN_CLAUSE = "E010", "A word that is no clause of this language (SELECT, FROM, WITHN)."
    OPEN_PARENTHESIS = "E011", "A parenthesis or bracket is not closed."
    COMMA_MISSING = "E012", "Two items of a list without a comma between them."
    UNIT_MISSING = "E013", "A length of time without its unit."
    UNKNOWN_UNIT = "E014", "A unit of time that does not exist."
    FINE_DURATION = "E015", "A length of time that is not a whole number of microseconds, or too long."
    BAD_TIMESTAMP = "E016", "A time stamp that is not ISO 8601, or not on the calendar."
    LONG_NUMBER = "E017", "A number with more digits than the limit."
    DEEP_NESTING = "E018", "A pattern or an expression nests deeper than the limit."
    DOUBLE_QUOTED = "E019", "Double quotes (for names) around what should be a string in single quotes."
    NEXT_WITHOUT_PARENTHESES = "E020", "NEXT without parentheses around its alias."
    MIXED_OPERATORS = "E021", "OR and AND of patterns mixed, or without parentheses around them."
    THREE_SIDES = "E022", "AND of patterns with more than two sides."
    NESTED_EQUIVALENCE = "E023", "An equivalence [a, b] inside an expression."
    CHAINED_COMPARISON = "E024", "A comparison of a comparison (a < b < c)."
    AGGREGATE_OPERAND = "E025", "An aggregate with the wrong kind of operand."
    NO_CONSTANT = "E026", "The builder got a number that is not finite, or a text that is no length of time."
    UNKNOWN_MODE = "E027", "What stands after SEMANTICS is no matching mode."
    FUNNEL_NAME = "E028", "A funnel without a name and a colon."
    FUNNEL_STEP = "E029", "A funnel of fewer than two steps, or a step that is more than a type."
    BY_MISSING = "E030", "A funnel without a BY clause."
    NOT_POSITIVE = "E101", "A window or slide that is zero or negative."
    SAME_LABEL = "E140", "Two queries of one text with the same label."

    def __new__(cls, code: str, meaning: str) -> Self:
        """Keep the sentence beside the code."""
        member = object.__new__(cls)
        member._value_ = code
        member.meaning = meaning
        return member

    meaning: str
