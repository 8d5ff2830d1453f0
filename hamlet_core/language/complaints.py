"""A text that fits no rule of the grammar: what came, what was expected, and what the writer probably meant."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeAlias

from hamlet_core.errors import QuerySyntaxError
from hamlet_core.language.acceptance import END, Acceptance
from hamlet_core.language.codes import SyntaxCode
from hamlet_core.language.expectations import expected
from hamlet_core.language.limits import MAX_NESTING
from hamlet_core.language.modes import KNOWN, LONGEST, mode_hint, mode_named, nearest_mode
from hamlet_core.language.scanning import RawToken, Scan
from hamlet_core.language.syntax import Span
from hamlet_core.language.writer import write_name

_EXAMPLE = "a query reads like this: RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 min"
_ORDER = "clauses stand in this order: RETURN, PATTERN, SEMANTICS, WHERE, GROUP-BY, WITHIN, SLIDE"
_UNITS = "for example 30 min; units are ms, s, min, h and d"
_CLAUSES = ("RETURN", "PATTERN", "SEMANTICS", "WHERE", "GROUP-BY", "WITHIN", "WINDOW", "SLIDE")
_CLAUSE_TERMINALS = frozenset(
    ("RETURN", "PATTERN", "SEMANTICS", "WHERE", "_GROUP_BY", "WITHIN", "SLIDE", END)
)
_NO_MODE = frozenset((*_CLAUSES, "GROUP", "GROUP_BY", "AND", "OR", "NOT"))
_FUNCTIONS = ("SUM", "AVG", "MIN", "MAX")
_OPERANDS = {
    "COUNT": (
        "* or an alias alone",
        "COUNT(*) counts trends, COUNT(a) the events bound to a, COUNT(PARTITIONS) partitions",
    ),
    "REACH": ("an alias alone", "REACH(a) counts the partitions that get as far as a"),
}
"""Function -> what it takes, and a hint."""
_FOREIGN = {
    "SELECT": "a query starts with RETURN",
    "FROM": "leave it out: the events come with the stream",
    "HAVING": "filter the rows of the result instead",
    "ORDER": "leave it out: the result has a fixed order",
    "LIMIT": "leave it out: the result has a row for each window, group and aggregate",
    "AS": "leave it out: a result is named by its aggregate, as in COUNT(*)",
    "GROUP": "write GROUP-BY",
    "PARTITION": "write WHERE [a, b] for attributes that agree within a trend, or GROUP-BY",
    "EVERY": "write SLIDE",
    "FILTER": "write WHERE",
    "JOIN": "leave it out: a query reads one stream",
    "ON": "write WHERE",
    "MATCH_RECOGNIZE": "write PATTERN",
    "EVENT": "write PATTERN",
    "DEFINE": "write WHERE",
    "AFTER": "leave it out: trends may overlap, and COUNT(DISJOINT) counts those that follow one another",
}
_SIGNS = ("-", ".", "/", ":")
_NAME_WITH_SIGNS = re.compile(r"\w+([-./:]\w+)+")


@dataclass(frozen=True, slots=True)
class Situation:
    """Where reading stopped: the raw token that fits nowhere, the open parentheses, the state of the parser."""

    scanned: Scan
    index: int
    open: tuple[RawToken, ...]
    acceptance: Acceptance


@dataclass(frozen=True, slots=True)
class _Stop:
    """A situation with what was acceptable in it."""

    scanned: Scan
    index: int
    open: tuple[RawToken, ...]
    accepted: frozenset[str]

    def raw(self, offset: int = 0) -> RawToken:
        """The raw token so many places further on (or back); an end beyond both ends."""
        index = self.index + offset
        return self.scanned.tokens[index if 0 <= index < len(self.scanned.tokens) else -1]

    @property
    def ends_clause(self) -> bool:
        """Whether what stands before is complete, so that a clause could follow."""
        return bool(self.accepted & _CLAUSE_TERMINALS)


@dataclass(frozen=True, slots=True)
class _Complaint:
    code: SyntaxCode
    message: str
    hint: str = ""
    offset: int = 0
    """Where it points: so many raw tokens from the one that fits nowhere."""


_Guess: TypeAlias = Callable[[_Stop], _Complaint | None]


def too_deep(text: str, place: Span) -> QuerySyntaxError:
    """The error for a nesting beyond `MAX_NESTING`."""
    message = f"this nests deeper than {MAX_NESTING} levels"
    hint = "take away parentheses that are not needed, or split the query"
    return _error(text, place, _Complaint(SyntaxCode.DEEP_NESTING, message, hint))


def complain(situation: Situation) -> QuerySyntaxError:
    """The error for a token that the grammar cannot take: the first guess that fits, or what was expected."""
    accepted = situation.acceptance.accepted()
    stop = _Stop(situation.scanned, situation.index, situation.open, accepted)
    guesses = (guess(stop) for guess in _GUESSES)
    complaint = next((found for found in guesses if found), None) or _unexpected(stop)
    place = stop.scanned.place(stop.raw(complaint.offset).start)
    return _error(stop.scanned.text, place, complaint)


def _error(text: str, place: Span, complaint: _Complaint) -> QuerySyntaxError:
    line, column = place
    code, message, hint = complaint.code.value, complaint.message, complaint.hint
    return QuerySyntaxError(message, code=code, hint=hint, line=line, column=column, text=text)


def _shown(raw: RawToken) -> str:
    if raw.kind == "end":
        return "the end of the text"
    text = raw.text if len(raw.text) <= 30 else f"{raw.text[:27]}..."
    return " ".join(text.split()) or text


def _unexpected(stop: _Stop) -> _Complaint:
    wanted = expected(stop.accepted)
    if stop.raw().kind == "end":
        return _Complaint(SyntaxCode.TEXT_ENDS, f"the text ends where {wanted} was expected")
    return _Complaint(
        SyntaxCode.UNEXPECTED, f"unexpected {_shown(stop.raw())}; expected {wanted}", _hint(stop)
    )


def _hint(stop: _Stop) -> str:
    raw = stop.raw()
    if {"AND", "OR"} <= stop.accepted and (raw.text == "," or raw.kind in ("word", "quoted")):
        return "conditions are joined by AND"
    if "LABEL" in stop.accepted and stop.raw(1).text.upper() == "RETURN":
        return f"a label ends with a colon: {_shown(raw)}: RETURN"
    if stop.accepted == {"STRING"} and raw.kind == "word":
        return f"write '{_shown(raw)}'"
    return _hint_for_sign(stop)


def _hint_for_sign(stop: _Stop) -> str:
    match stop.raw(-1).text, stop.raw().text:
        case "=", (">" | "<") as sign:
            return f"write {sign}="
        case _, "." if stop.raw(1).kind == "number":
            return f"write 0.{stop.raw(1).text}"
        case _, "." if "RSQB" in stop.accepted:
            return f"an equivalence names attributes alone: [{_shown(stop.raw(1))}]"
        case _, ")" | "]" if not stop.open:
            return "nothing is open that it could close"
        case _, "," if "SEMANTICS" in stop.accepted:
            return "the parts of a sequence stand in parentheses: SEQ(A, B)"
    return ""


# --- guesses, the surest first ------------------------------------------------------------------


def _empty(stop: _Stop) -> _Complaint | None:
    if len(stop.scanned.tokens) > 1:
        return None
    return _Complaint(SyntaxCode.EMPTY, "the text holds no query", _EXAMPLE)


def _mode(stop: _Stop) -> _Complaint | None:
    if "MODE" not in stop.accepted:
        return None
    raw, before = stop.raw(), stop.raw(-1).text
    if raw.kind == "end":
        return _Complaint(
            SyntaxCode.TEXT_ENDS, f"the text ends where {expected(('MODE',))} was expected", KNOWN
        )
    if raw.kind == "word" and raw.text.upper() not in _NO_MODE:
        words = _words(stop, 0, apart=True)
        return _no_mode(words if nearest_mode(words) else _words(stop, 0, apart=False))
    if mode_named(raw.value):
        hint = f"a mode stands without quotes: {before} {raw.value}"
        return _Complaint(SyntaxCode.UNKNOWN_MODE, f"{_shown(raw)} is no matching mode", hint)
    hint = f'{KNOWN}; an alias of that name stands in double quotes: "{before}"'
    return _Complaint(
        SyntaxCode.UNKNOWN_MODE, f"the mode is missing between {before} and {_shown(raw)}", hint
    )


def _mode_goes_on(stop: _Stop) -> _Complaint | None:
    """A word after what was taken for a whole mode, as in `any match`."""
    back = next(
        (back for back in range(-1, -LONGEST - 2, -1) if stop.raw(back).text.upper() == "SEMANTICS"), 0
    )
    taken = " ".join(stop.raw(place).text for place in range(back + 1, 0))
    words = _words(stop, back + 1, apart=True)
    meant = stop.raw().kind == "word" and mode_named(taken) and nearest_mode(words)
    return _no_mode(words, back + 1) if meant else None


def _no_mode(words: str, offset: int = 0) -> _Complaint:
    return _Complaint(SyntaxCode.UNKNOWN_MODE, f"unknown mode {words}", mode_hint(words), offset)


def _words(stop: _Stop, offset: int, *, apart: bool) -> str:
    """The words from a place on, up to a clause: those joined by hyphens, or `apart` also those side by side."""
    text = ""
    for ahead in range(offset, offset + LONGEST):
        raw = stop.raw(ahead)
        joined = raw.text == "-" or (raw.kind == "word" and text[-1:] in ("", "-"))
        if not joined and (not apart or raw.kind != "word" or raw.text.upper() in _NO_MODE):
            break
        text += raw.text if joined else f" {raw.text}"
    return text


def _next_without_parentheses(stop: _Stop) -> _Complaint | None:
    for back in (-1, 0):
        if stop.raw(back - 1).text.upper() == "SEMANTICS" or "QMARK" in stop.accepted:
            continue
        if stop.raw(back).text.upper() == "NEXT" and stop.raw(back + 1).kind in ("word", "quoted"):
            alias = stop.raw(back + 1).text
            hint = f"write NEXT({alias}).attribute"
            message = "NEXT stands before an alias in parentheses"
            return _Complaint(SyntaxCode.NEXT_WITHOUT_PARENTHESES, message, hint, back)
    if stop.raw(-3).text.upper() == "NEXT" and stop.raw().text == "." and stop.raw(-2).text == "(":
        alias, name = stop.raw(-1).text, stop.raw(1).text
        message = "NEXT takes an alias alone"
        return _Complaint(SyntaxCode.NEXT_WITHOUT_PARENTHESES, message, f"write NEXT({alias}).{name}")
    return None


def _double_quoted(stop: _Stop) -> _Complaint | None:
    offset = 0 if "STRING" in stop.accepted and not {"QUOTED"} & stop.accepted else -1
    raw = stop.raw(offset)
    if raw.kind != "quoted" or (offset == -1 and stop.accepted != {"DOT"}):
        return None
    message = f"{_shown(raw)} is a name, and here a string or an attribute was expected"
    string = "'" + raw.value.replace("'", "''") + "'"
    return _Complaint(SyntaxCode.DOUBLE_QUOTED, message, f"strings stand in single quotes: {string}", offset)


def _single_quoted(stop: _Stop) -> _Complaint | None:
    raw = stop.raw()
    if raw.kind != "string" or "QUOTED" not in stop.accepted or "STRING" in stop.accepted:
        return None
    message = f"{_shown(raw)} is a string, and here a name was expected"
    hint = f"names stand without single quotes: {write_name(raw.value)}"
    return _Complaint(SyntaxCode.UNEXPECTED, message, hint)


def _name_with_signs(stop: _Stop) -> _Complaint | None:
    """A type such as login-failed: its first word was taken for the whole."""
    before, sign = stop.raw(-1), stop.raw()
    name = _NAME_WITH_SIGNS.match(stop.scanned.text, before.start)
    if before.kind != "word" or "QMARK" not in stop.accepted or sign.text not in _SIGNS or name is None:
        return None
    hint = f"a name with {sign.text} stands in double quotes: {write_name(name[0])}"
    return _Complaint(SyntaxCode.UNEXPECTED, f"unexpected {sign.text} in a name", hint)


def _aggregate_operand(stop: _Stop) -> _Complaint | None:
    back = next((back for back in (-1, -2, -4) if stop.raw(back).text == "("), None)
    if back is None:
        return None
    function = stop.raw(back - 1).text.upper()
    operand = stop.raw(-1).text if back == -2 else ""
    whole = stop.accepted == {"RPAR"}
    none = back == -1 and "QUOTED" in stop.accepted and stop.raw().text in ("*", ")")
    if function in _FUNCTIONS and (stop.accepted == {"DOT"} or none):
        return _measured_operand(function, operand)
    if function in _FUNCTIONS and whole:
        message = f"{function} takes {operand or 'one attribute'} alone"
        return _Complaint(SyntaxCode.AGGREGATE_OPERAND, message, "no arithmetic inside an aggregate")
    if function in _OPERANDS and (whole or none):
        takes, hint = _OPERANDS[function]
        if function == "REACH" and operand:
            hint = f"write REACH({operand})"
        if operand.upper() == "DISTINCT":
            hint = "COUNT(PARTITIONS) counts the different values of an equivalence: WHERE [user]"
        return _Complaint(SyntaxCode.AGGREGATE_OPERAND, f"{function} takes {takes}", hint)
    return None


def _measured_operand(function: str, operand: str) -> _Complaint:
    message = f"{function} takes an attribute of an alias, or DURATION"
    hint = f"write {function}({operand or 'alias'}.attribute)"
    if not operand:
        hint += f", or {function}(DURATION) for how long trends last"
    if operand.upper() in ("PARTITIONS", "DISJOINT"):
        hint = f"write COUNT({operand.upper()})"
    return _Complaint(SyntaxCode.AGGREGATE_OPERAND, message, hint)


def _no_function(stop: _Stop) -> _Complaint | None:
    name = stop.raw(-1)
    if stop.raw().text != "(" or name.kind != "word" or "LPAR" in stop.accepted:
        return None
    message = f"{_shown(name)} is no function of this language"
    hint = "aggregates are COUNT, SUM, AVG, MIN, MAX and REACH, conditions use signs and NEXT"
    if name.text.upper() in (*_FUNCTIONS, *_OPERANDS):
        message, hint = f"{_shown(name)} stands in RETURN only", "a condition compares single events"
    return _Complaint(SyntaxCode.UNEXPECTED, message, hint, -1)


def _word_needs_more(stop: _Stop) -> _Complaint | None:
    for offset in (-1, -2):
        word = stop.raw(offset).text.upper()
        if word == "SEQ" and "QMARK" in stop.accepted:
            message = "SEQ stands before its parts in parentheses"
            return _Complaint(SyntaxCode.UNEXPECTED, message, "write SEQ(A, B)", offset)
    if stop.raw(-1).text.upper() == "TIMESTAMP":
        message = "TIMESTAMP stands before a string"
        return _Complaint(SyntaxCode.UNEXPECTED, message, "write TIMESTAMP '2015-01-01 08:00'", -1)
    return None


def _bare_word_alone(stop: _Stop) -> _Complaint | None:
    if stop.accepted != {"DOT"} or stop.raw(-1).kind != "word":
        return None
    name = _shown(stop.raw(-1))
    message = f"{name} alone is no value here"
    hint = f"an attribute is written alias.{name}, a string '{name}'"
    return _Complaint(SyntaxCode.UNEXPECTED, message, hint, -1)


def _unit_missing(stop: _Stop) -> _Complaint | None:
    if stop.accepted != {"UNIT"}:
        return None
    return _Complaint(
        SyntaxCode.UNIT_MISSING, f"the unit of time is missing after {_shown(stop.raw(-1))}", _UNITS
    )


def _open_parenthesis(stop: _Stop) -> _Complaint | None:
    raw = stop.raw()
    closes = {"RPAR", "RSQB"} & stop.accepted
    stops = (
        raw.kind == "end"
        or raw.text in (")", "]", ":")
        or raw.text.upper() in (*_CLAUSES, "GROUP", "GROUP_BY")
    )
    if not stop.open or not closes or not stops:
        return None
    opening = stop.open[-1]
    line, column = stop.scanned.place(opening.start)
    sign = ")" if opening.text == "(" else "]"
    message = f"{sign} is missing before {_shown(raw)}"
    hint = f"it closes the {opening.text} of line {line}, column {column}"
    return _Complaint(SyntaxCode.OPEN_PARENTHESIS, message, hint)


def _within_missing(stop: _Stop) -> _Complaint | None:
    raw = stop.raw()
    if "WITHIN" not in stop.accepted:
        return None
    hint = "end the query with, for example, WITHIN 10 min"
    if raw.kind == "end" or raw.text.upper() == "RETURN" or stop.raw(1).text == ":":
        return _Complaint(SyntaxCode.WITHIN_MISSING, "the query has no WITHIN clause", hint)
    if raw.text == ":":
        return _Complaint(SyntaxCode.WITHIN_MISSING, "the query has no WITHIN clause", hint, -1)
    if raw.text.upper() == "SLIDE":
        return _Complaint(SyntaxCode.WITHIN_MISSING, "SLIDE stands after a WITHIN clause", hint)
    return None


def _pattern_operator(stop: _Stop) -> _Complaint | None:
    raw = stop.raw()
    operator = {"\u2227": "AND", "\u2228": "OR"}.get(raw.text, raw.text.upper())
    if operator not in ("AND", "OR") or "QMARK" not in stop.accepted:
        return None
    if {"AND", "OR"} & stop.accepted:
        hint = "put parentheses around the inner one: (A OR (B AND C))"
        return _Complaint(SyntaxCode.MIXED_OPERATORS, "OR and AND of patterns are mixed", hint)
    message = f"{operator} of patterns stands in parentheses of its own"
    return _Complaint(SyntaxCode.MIXED_OPERATORS, message, f"write (A {operator} B)")


def _clause_order(stop: _Stop) -> _Complaint | None:
    raw = stop.raw()
    clause = raw.text.upper() in _CLAUSES or raw.text.upper() == "GROUP_BY"
    grouped = raw.text.upper() == "GROUP" and "BY" in (stop.raw(1).text.upper(), stop.raw(2).text.upper())
    if not (clause or grouped) or not stop.ends_clause:
        return None
    message = (
        f"{'GROUP-BY' if grouped else _shown(raw)} cannot stand here; expected {expected(stop.accepted)}"
    )
    return _Complaint(SyntaxCode.CLAUSE_ORDER, message, _ORDER)


def _unknown_clause(stop: _Stop) -> _Complaint | None:
    if not stop.ends_clause:
        return None
    for offset in (0, -1):
        raw = stop.raw(offset)
        word = raw.text.upper()
        after_name = stop.raw(offset - 1).kind in ("word", "quoted", "number", "string") or offset == 0
        if raw.kind != "word" or not after_name:
            continue
        if word in _FOREIGN:
            message = f"{_shown(raw)} is no clause of this language"
            return _Complaint(SyntaxCode.UNKNOWN_CLAUSE, message, _FOREIGN[word], offset)
        close = get_close_matches(word, _CLAUSES, n=1, cutoff=0.75)
        if close and word not in _CLAUSES:
            message = f"unknown clause {_shown(raw)}"
            return _Complaint(SyntaxCode.UNKNOWN_CLAUSE, message, f"did you mean {close[0]}?", offset)
    return None


def _chained_comparison(stop: _Stop) -> _Complaint | None:
    raw = stop.raw()
    again = raw.text in ("=", "==", "!=", "<>", "<", "<=", ">", ">=")
    again = again or raw.text.upper() in ("IN", "BETWEEN", "LIKE", "IS")
    if not again or "AND" not in stop.accepted or "QMARK" in stop.accepted or "COMPARISON" in stop.accepted:
        return None
    hint = "join two comparisons with AND: a.x < b AND b < c"
    return _Complaint(SyntaxCode.CHAINED_COMPARISON, "a comparison cannot be compared again", hint)


def _comma_missing(stop: _Stop) -> _Complaint | None:
    raw = stop.raw()
    item = raw.kind in ("word", "quoted", "number", "string") or raw.text == "("
    if not item or "COMMA" not in stop.accepted:
        return None
    hint = ""
    if stop.raw(-1).text in ("+", "*", "?") and "QMARK" in stop.accepted:
        kind, sign = _shown(stop.raw(-2)), stop.raw(-1).text
        hint = f"an alias stands before the sign: {kind} {_shown(raw)}{sign}"
    return _Complaint(SyntaxCode.COMMA_MISSING, f"a comma is missing before {_shown(raw)}", hint)


def _alias_after_sign(stop: _Stop) -> _Complaint | None:
    if stop.raw(-1).text not in ("+", "*", "?") or "QMARK" not in stop.accepted or stop.raw().kind != "word":
        return None
    hint = f"an alias stands before the sign: {_shown(stop.raw(-2))} {_shown(stop.raw())}{stop.raw(-1).text}"
    return _Complaint(
        SyntaxCode.UNEXPECTED, f"unexpected {_shown(stop.raw())} after {stop.raw(-1).text}", hint
    )


_GUESSES: tuple[_Guess, ...] = (
    _empty,
    _mode,
    _next_without_parentheses,
    _aggregate_operand,
    _double_quoted,
    _single_quoted,
    _name_with_signs,
    _no_function,
    _word_needs_more,
    _bare_word_alone,
    _unit_missing,
    _open_parenthesis,
    _within_missing,
    _pattern_operator,
    _clause_order,
    _unknown_clause,
    _mode_goes_on,
    _chained_comparison,
    _comma_missing,
    _alias_after_sign,
)
