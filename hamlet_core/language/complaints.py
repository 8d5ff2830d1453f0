"""A text that fits no rule of the grammar: what came, what was expected, and what the writer probably meant."""

from __future__ import annotations

import re
from difflib import get_close_matches

from hamlet_core.errors import QuerySyntaxError
from hamlet_core.language.codes import SyntaxCode
from hamlet_core.language.expectations import expected
from hamlet_core.language.funnel_complaints import FUNNEL_GUESSES, FUNNEL_ORDER, in_funnel
from hamlet_core.language.limits import MAX_NESTING
from hamlet_core.language.modes import KNOWN, LONGEST, mode_hint, mode_named, nearest_mode
from hamlet_core.language.stops import CLAUSES, Complaint, Guess, Situation, Stop, shown
from hamlet_core.language.syntax import Span, Subject
from hamlet_core.language.writer import write_name

_EXAMPLE = "a query reads like this: RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 min"
_ORDER = "clauses stand in this order: RETURN, PATTERN, SEMANTICS, WHERE, GROUP-BY, WITHIN, SLIDE"
_UNITS = "for example 30 min; units are ms, s, min, h and d"
_NO_MODE = frozenset((*CLAUSES, "GROUP", "GROUP_BY", "BY", "AND", "OR", "NOT"))
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
    "BY": "write WHERE [a, b] for attributes that agree within a trend; BY stands in a FUNNEL",
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


def too_deep(text: str, place: Span) -> QuerySyntaxError:
    """The error for a nesting beyond `MAX_NESTING`."""
    message = f"this nests deeper than {MAX_NESTING} levels"
    hint = "take away parentheses that are not needed, or split the query"
    return _error(text, place, Complaint(SyntaxCode.DEEP_NESTING, message, hint))


def complain(situation: Situation) -> QuerySyntaxError:
    """The error for a token that the grammar cannot take: the first guess that fits, or what was expected."""
    accepted = situation.acceptance.accepted()
    stop = Stop(situation.scanned, situation.index, situation.open, accepted)
    guesses = (guess(stop) for guess in _GUESSES)
    complaint = next((found for found in guesses if found), None) or _unexpected(stop)
    place = stop.scanned.place(stop.raw(complaint.offset).start)
    return _error(stop.scanned.text, place, complaint)


def _error(text: str, place: Span, complaint: Complaint) -> QuerySyntaxError:
    line, column = place
    code, message, hint = complaint.code.value, complaint.message, complaint.hint
    return QuerySyntaxError(message, code=code, hint=hint, line=line, column=column, text=text)


def _unexpected(stop: Stop) -> Complaint:
    wanted = expected(stop.accepted)
    if stop.raw().kind == "end":
        return Complaint(SyntaxCode.TEXT_ENDS, f"the text ends where {wanted} was expected")
    return Complaint(SyntaxCode.UNEXPECTED, f"unexpected {shown(stop.raw())}; expected {wanted}", _hint(stop))


def _hint(stop: Stop) -> str:
    raw = stop.raw()
    if {"AND", "OR"} <= stop.accepted and (raw.text == "," or raw.kind in ("word", "quoted")):
        return "conditions are joined by AND"
    if "LABEL" in stop.accepted and stop.raw(1).text.upper() == "RETURN":
        return f"a label ends with a colon: {shown(raw)}: RETURN"
    if stop.accepted == {"STRING"} and raw.kind == "word":
        return f"write '{shown(raw)}'"
    if "SEMANTICS" in stop.accepted and mode_named(raw.text):
        return f"a mode stands behind SEMANTICS: write SEMANTICS {raw.text}"
    if raw.text == "," and mode_named(stop.raw(-1).text) and mode_named(stop.raw(1).text):
        return "a query has one mode; write a query for each"
    return _hint_for_sign(stop)


def _hint_for_sign(stop: Stop) -> str:  # noqa: PLR0911 - one case a sign
    match stop.raw(-1).text, stop.raw().text:
        case "=", (">" | "<") as sign:
            return f"write {sign}="
        case _, "->":
            return "-> joins the steps of a FUNNEL; in a pattern write SEQ(A, B)"
        case _, "." if stop.raw(1).kind == "number":
            return f"write 0.{stop.raw(1).text}"
        case _, "." if "RSQB" in stop.accepted:
            return f"an equivalence names attributes alone: [{shown(stop.raw(1))}]"
        case _, ")" | "]" if not stop.open:
            return "nothing is open that it could close"
        case ")", "+" | "-" | "*" | "/" if "PATTERN" in stop.accepted:
            return "RETURN has aggregates alone: compute with them where the results are read, as in SQL"
        case _, "," if "SEMANTICS" in stop.accepted:
            return "the parts of a sequence stand in parentheses: SEQ(A, B)"
    return ""


# --- guesses, the surest first ------------------------------------------------------------------


def _empty(stop: Stop) -> Complaint | None:
    if len(stop.scanned.tokens) > 1:
        return None
    return Complaint(SyntaxCode.EMPTY, "the text holds no query", _EXAMPLE)


def _mode(stop: Stop) -> Complaint | None:
    if "MODE" not in stop.accepted:
        return None
    raw, before = stop.raw(), stop.raw(-1).text
    if raw.kind == "end":
        return Complaint(
            SyntaxCode.TEXT_ENDS, f"the text ends where {expected(('MODE',))} was expected", KNOWN
        )
    if raw.kind == "word" and raw.text.upper() not in _NO_MODE:
        words = _words(stop, 0, apart=True)
        return _no_mode(words if nearest_mode(words) else _words(stop, 0, apart=False))
    if mode_named(raw.value):
        hint = f"a mode stands without quotes: {before} {raw.value}"
        return Complaint(SyntaxCode.UNKNOWN_MODE, f"{shown(raw)} is no matching mode", hint)
    hint = f'{KNOWN}; an alias of that name stands in double quotes: "{before}"'
    return Complaint(SyntaxCode.UNKNOWN_MODE, f"the mode is missing between {before} and {shown(raw)}", hint)


def _mode_goes_on(stop: Stop) -> Complaint | None:
    """A word after what was taken for a whole mode, as in `any match`."""
    back = next(
        (back for back in range(-1, -LONGEST - 2, -1) if stop.raw(back).text.upper() == "SEMANTICS"), 0
    )
    taken = " ".join(stop.raw(place).text for place in range(back + 1, 0))
    words = _words(stop, back + 1, apart=True)
    meant = stop.raw().kind == "word" and mode_named(taken) and nearest_mode(words)
    return _no_mode(words, back + 1) if meant else None


def _no_mode(words: str, offset: int = 0) -> Complaint:
    return Complaint(SyntaxCode.UNKNOWN_MODE, f"unknown mode {words}", mode_hint(words), offset)


def _words(stop: Stop, offset: int, *, apart: bool) -> str:
    """The words from a place on, up to a clause: those joined by hyphens, or `apart` also those side by side."""
    text = ""
    for ahead in range(offset, offset + LONGEST):
        raw = stop.raw(ahead)
        joined = raw.text == "-" or (raw.kind == "word" and text[-1:] in ("", "-"))
        if not joined and (not apart or raw.kind != "word" or raw.text.upper() in _NO_MODE):
            break
        text += raw.text if joined else f" {raw.text}"
    return text


def _next_without_parentheses(stop: Stop) -> Complaint | None:
    for back in (-1, 0):
        if "SEMANTICS" in (stop.raw(back - 1).text.upper(), stop.raw(back - 2).text.upper()):
            continue
        if "QMARK" in stop.accepted:
            continue
        if stop.raw(back).text.upper() == "NEXT" and stop.raw(back + 1).kind in ("word", "quoted"):
            alias = stop.raw(back + 1).text
            hint = f"write NEXT({alias}).attribute"
            message = "NEXT stands before an alias in parentheses"
            return Complaint(SyntaxCode.NEXT_WITHOUT_PARENTHESES, message, hint, back)
    if stop.raw(-3).text.upper() == "NEXT" and stop.raw().text == "." and stop.raw(-2).text == "(":
        alias, name = stop.raw(-1).text, stop.raw(1).text
        message = "NEXT takes an alias alone"
        return Complaint(SyntaxCode.NEXT_WITHOUT_PARENTHESES, message, f"write NEXT({alias}).{name}")
    return None


def _double_quoted(stop: Stop) -> Complaint | None:
    offset = 0 if "STRING" in stop.accepted and not {"QUOTED"} & stop.accepted else -1
    raw = stop.raw(offset)
    if raw.kind != "quoted" or (offset == -1 and stop.accepted != {"DOT"}):
        return None
    message = f"{shown(raw)} is a name, and here a string or an attribute was expected"
    string = "'" + raw.value.replace("'", "''") + "'"
    return Complaint(SyntaxCode.DOUBLE_QUOTED, message, f"strings stand in single quotes: {string}", offset)


def _single_quoted(stop: Stop) -> Complaint | None:
    raw = stop.raw()
    if raw.kind != "string" or "QUOTED" not in stop.accepted or "STRING" in stop.accepted:
        return None
    message = f"{shown(raw)} is a string, and here a name was expected"
    hint = f"names stand without single quotes: {write_name(raw.value)}"
    return Complaint(SyntaxCode.UNEXPECTED, message, hint)


def _name_with_signs(stop: Stop) -> Complaint | None:
    """A type such as login-failed: its first word was taken for the whole."""
    before, sign = stop.raw(-1), stop.raw()
    name = _NAME_WITH_SIGNS.match(stop.scanned.text, before.start)
    if (
        before.kind != "word"
        or not {"QMARK", "_ARROW"} & stop.accepted
        or sign.text not in _SIGNS
        or name is None
    ):
        return None
    hint = f"a name with {sign.text} stands in double quotes: {write_name(name[0])}"
    return Complaint(SyntaxCode.UNEXPECTED, f"unexpected {sign.text} in a name", hint)


def _aggregate_operand(stop: Stop) -> Complaint | None:
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
        return Complaint(SyntaxCode.AGGREGATE_OPERAND, message, "no arithmetic inside an aggregate")
    if function in _OPERANDS and (whole or none):
        takes, hint = _OPERANDS[function]
        if function == "REACH" and operand:
            inner = stop.raw(1).text if stop.raw().text == "(" else operand
            hint = f"write REACH({inner})"
        if operand.upper() == "DISTINCT":
            hint = "COUNT(PARTITIONS) counts the different values of an equivalence: WHERE [user]"
        return Complaint(SyntaxCode.AGGREGATE_OPERAND, f"{function} takes {takes}", hint)
    return None


def _measured_operand(function: str, operand: str) -> Complaint:
    message = f"{function} takes an attribute of an alias, or DURATION"
    hint = f"write {function}({operand or 'alias'}.attribute)"
    if not operand:
        hint += f", or {function}(DURATION) for how long trends last"
    if operand.upper() in ("PARTITIONS", "DISJOINT"):
        hint = f"write COUNT({operand.upper()})"
    if operand[:1] != '"' and get_close_matches(operand.upper(), [Subject.DURATION.value], cutoff=0.8):
        hint = f"write {function}(DURATION), or {function}({operand}.attribute) of an alias"
    return Complaint(SyntaxCode.AGGREGATE_OPERAND, message, hint)


def _no_function(stop: Stop) -> Complaint | None:
    name = stop.raw(-1)
    if stop.raw().text != "(" or name.kind != "word" or "LPAR" in stop.accepted:
        return None
    message = f"{shown(name)} is no function of this language"
    hint = "aggregates are COUNT, SUM, AVG, MIN, MAX and REACH, conditions use signs and NEXT"
    if name.text.upper() in (*_FUNCTIONS, *_OPERANDS):
        message, hint = f"{shown(name)} stands in RETURN only", "a condition compares single events"
    return Complaint(SyntaxCode.UNEXPECTED, message, hint, -1)


def _word_needs_more(stop: Stop) -> Complaint | None:
    for offset in (-1, -2):
        word = stop.raw(offset).text.upper()
        if word == "SEQ" and "QMARK" in stop.accepted:
            message = "SEQ stands before its parts in parentheses"
            return Complaint(SyntaxCode.UNEXPECTED, message, "write SEQ(A, B)", offset)
    if stop.raw(-1).text.upper() == "TIMESTAMP":
        message = "TIMESTAMP stands before a string"
        return Complaint(SyntaxCode.UNEXPECTED, message, "write TIMESTAMP '2015-01-01 08:00'", -1)
    return None


def _bare_word_alone(stop: Stop) -> Complaint | None:
    if stop.accepted != {"DOT"} or stop.raw(-1).kind != "word":
        return None
    name = shown(stop.raw(-1))
    message = f"{name} alone is no value here"
    hint = f"an attribute is written alias.{name}, a string '{name}'"
    return Complaint(SyntaxCode.UNEXPECTED, message, hint, -1)


def _unit_missing(stop: Stop) -> Complaint | None:
    if stop.accepted != {"UNIT"}:
        return None
    return Complaint(
        SyntaxCode.UNIT_MISSING, f"the unit of time is missing after {shown(stop.raw(-1))}", _UNITS
    )


def _open_parenthesis(stop: Stop) -> Complaint | None:
    raw = stop.raw()
    closes = {"RPAR", "RSQB"} & stop.accepted
    stops = (
        raw.kind == "end"
        or raw.text in (")", "]", ":")
        or raw.text.upper() in (*CLAUSES, "GROUP", "GROUP_BY")
    )
    by = stop.raw(-1).text.upper() == "BY" and raw.kind in ("word", "quoted") and in_funnel(stop)
    if not stop.open or not closes or not (stops or by):
        return None
    opening = stop.open[-1]
    line, column = stop.scanned.place(opening.start)
    sign = ")" if opening.text == "(" else "]"
    message = f"{sign} is missing before {'BY' if by else shown(raw)}"
    hint = f"it closes the {opening.text} of line {line}, column {column}"
    return Complaint(SyntaxCode.OPEN_PARENTHESIS, message, hint, -by)


def _within_missing(stop: Stop) -> Complaint | None:
    raw = stop.raw()
    if "WITHIN" not in stop.accepted:
        return None
    hint = "end the query with, for example, WITHIN 10 min"
    begins = raw.text.upper() in ("RETURN", "FUNNEL") or stop.raw(1).text == ":"
    if raw.kind == "end" or begins:
        offset = -1 if stop.raw(-1).text.upper() == "FUNNEL" and stop.raw(1).text == ":" else 0
        return Complaint(SyntaxCode.WITHIN_MISSING, "the query has no WITHIN clause", hint, offset)
    if raw.text == ":":
        return Complaint(SyntaxCode.WITHIN_MISSING, "the query has no WITHIN clause", hint, -1)
    if raw.text.upper() == "SLIDE":
        return Complaint(SyntaxCode.WITHIN_MISSING, "SLIDE stands after a WITHIN clause", hint)
    return None


def _pattern_operator(stop: Stop) -> Complaint | None:
    raw = stop.raw()
    operator = {"\u2227": "AND", "\u2228": "OR"}.get(raw.text, raw.text.upper())
    if operator not in ("AND", "OR") or "QMARK" not in stop.accepted:
        return None
    if {"AND", "OR"} & stop.accepted:
        hint = "put parentheses around the inner one: (A OR (B AND C))"
        return Complaint(SyntaxCode.MIXED_OPERATORS, "OR and AND of patterns are mixed", hint)
    message = f"{operator} of patterns stands in parentheses of its own"
    return Complaint(SyntaxCode.MIXED_OPERATORS, message, f"write (A {operator} B)")


def _clause_order(stop: Stop) -> Complaint | None:
    raw = stop.raw()
    funnel = in_funnel(stop)
    clause = raw.text.upper() in (*CLAUSES, "GROUP_BY", *(("BY",) if funnel else ()))
    grouped = raw.text.upper() == "GROUP" and "BY" in (stop.raw(1).text.upper(), stop.raw(2).text.upper())
    if not (clause or grouped) or not stop.ends_clause:
        return None
    message = f"{'GROUP-BY' if grouped else shown(raw)} cannot stand here; expected {expected(stop.accepted)}"
    return Complaint(SyntaxCode.CLAUSE_ORDER, message, FUNNEL_ORDER if funnel else _ORDER)


def _unknown_clause(stop: Stop) -> Complaint | None:
    if not stop.ends_clause:
        return None
    for offset in (0, -1):
        raw = stop.raw(offset)
        word = raw.text.upper()
        after_name = stop.raw(offset - 1).kind in ("word", "quoted", "number", "string") or offset == 0
        if raw.kind != "word" or not after_name:
            continue
        if word in _FOREIGN:
            message = f"{shown(raw)} is no clause of this language"
            return Complaint(SyntaxCode.UNKNOWN_CLAUSE, message, _FOREIGN[word], offset)
        close = get_close_matches(word, CLAUSES, n=1, cutoff=0.75)
        if close and word not in CLAUSES:
            message = f"unknown clause {shown(raw)}"
            return Complaint(SyntaxCode.UNKNOWN_CLAUSE, message, f"did you mean {close[0]}?", offset)
    return None


def _chained_comparison(stop: Stop) -> Complaint | None:
    raw = stop.raw()
    again = raw.text in ("=", "==", "!=", "<>", "<", "<=", ">", ">=")
    again = again or raw.text.upper() in ("IN", "BETWEEN", "LIKE", "IS")
    if not again or "AND" not in stop.accepted or "QMARK" in stop.accepted or "COMPARISON" in stop.accepted:
        return None
    hint = "join two comparisons with AND: a.x < b AND b < c"
    return Complaint(SyntaxCode.CHAINED_COMPARISON, "a comparison cannot be compared again", hint)


def _comma_missing(stop: Stop) -> Complaint | None:
    raw = stop.raw()
    item = raw.kind in ("word", "quoted", "number", "string") or raw.text == "("
    if not item or "COMMA" not in stop.accepted:
        return None
    hint = ""
    if stop.raw(-1).text in ("+", "*", "?") and "QMARK" in stop.accepted:
        kind, sign = shown(stop.raw(-2)), stop.raw(-1).text
        hint = f"an alias stands before the sign: {kind} {shown(raw)}{sign}"
    return Complaint(SyntaxCode.COMMA_MISSING, f"a comma is missing before {shown(raw)}", hint)


def _alias_after_sign(stop: Stop) -> Complaint | None:
    if stop.raw(-1).text not in ("+", "*", "?") or "QMARK" not in stop.accepted or stop.raw().kind != "word":
        return None
    hint = f"an alias stands before the sign: {shown(stop.raw(-2))} {shown(stop.raw())}{stop.raw(-1).text}"
    return Complaint(SyntaxCode.UNEXPECTED, f"unexpected {shown(stop.raw())} after {stop.raw(-1).text}", hint)


_GUESSES: tuple[Guess, ...] = (
    _empty,
    _mode,
    _next_without_parentheses,
    _aggregate_operand,
    _double_quoted,
    _single_quoted,
    _name_with_signs,
    *FUNNEL_GUESSES,
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
