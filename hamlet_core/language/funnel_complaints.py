"""What was probably meant where the text of a funnel fits no rule."""

from __future__ import annotations

from hamlet_core.language.codes import SyntaxCode
from hamlet_core.language.stops import CLAUSES, Complaint, Guess, Stop, shown

FUNNEL_ORDER = (
    "clauses of a funnel stand in this order: FUNNEL, SEMANTICS, WHERE, BY, GROUP-BY, WITHIN, SLIDE"
)
_EXAMPLE = "a funnel reads like this: FUNNEL checkout: view -> cart -> purchase BY user WITHIN 7 days"
_ARROWS = (">", "<", ">=", "<=", "=", "-", ",", "|")
"""What is written for an arrow, or begins what is."""
_ELSEWHERE = "patterns of other forms are written RETURN ... PATTERN ..."


def in_funnel(stop: Stop) -> bool:
    """Whether the query in which reading stopped began as a funnel."""
    for back in range(stop.index - 1, -1, -1):
        words = [raw.text.upper() for raw in stop.scanned.tokens[back : back + 3]]
        if words[0] == "FUNNEL" and words[2:] == [":"]:
            return True
        if words[0] == "RETURN" and _labelled(stop, back) != "FUNNEL":
            return False
    return False


def _labelled(stop: Stop, place: int) -> str:
    """The word before the label of what begins at a place."""
    label = stop.scanned.tokens[max(place - 3, 0) : place]
    return label[0].text.upper() if len(label) == 3 and label[-1].text == ":" else ""


def _name_missing(stop: Stop) -> Complaint | None:
    before, raw = stop.raw(-1), stop.raw()
    if before.text == ":" and stop.raw(-2).text.upper() == "FUNNEL" and raw.text.upper() != "RETURN":
        hint = "the name stands before the colon: FUNNEL checkout: view -> cart"
        return Complaint(SyntaxCode.FUNNEL_NAME, "the funnel has no name", hint, -2)
    if before.text == ":" and raw.text.upper() == "FUNNEL" and stop.accepted == {"RETURN"}:
        message = "the name of a funnel stands behind the word FUNNEL"
        return Complaint(SyntaxCode.FUNNEL_NAME, message, f"write FUNNEL {shown(stop.raw(-2))}: view -> cart")
    if before.text.upper() != "FUNNEL" or stop.accepted != {"LABEL"}:
        return None
    if raw.kind in ("word", "quoted") and stop.raw(1).kind in ("word", "quoted", "end"):
        message = f"a colon is missing after {shown(raw)}, the name of the funnel"
        return Complaint(SyntaxCode.FUNNEL_NAME, message, f"write FUNNEL {shown(raw)}:")
    return Complaint(SyntaxCode.FUNNEL_NAME, f"the funnel has no name before {shown(raw)}", _EXAMPLE)


def _dashes(stop: Stop) -> Complaint | None:
    """An arrow of two dashes is a comment."""
    if not in_funnel(stop) or "_ARROW" not in stop.accepted:
        return None
    end = stop.raw(-1).end
    if not stop.scanned.text[end:].lstrip().startswith("--"):
        return None
    if not stop.scanned.text[end:].lstrip().lstrip("-").startswith(">"):
        return None
    message = "what begins with two dashes is a comment, also where an arrow was meant"
    return Complaint(SyntaxCode.FUNNEL_STEP, message, "write -> between steps", -1)


def _step(stop: Stop) -> Complaint | None:
    """A step that is more than a type, or another sign for the arrow."""
    raw, before = stop.raw(), stop.raw(-1)
    inside = "OR" in stop.accepted or (before.text == "(" and stop.accepted == {"NAME", "QUOTED"})
    joins = "_ARROW" in stop.accepted or (inside and bool(stop.open))
    begins = before.text in ("->", ":") and "NOT" in stop.accepted
    if not in_funnel(stop) or "WITHIN" in stop.accepted or not (joins or begins):
        return None
    word = {"\u2227": "AND", "\u2228": "OR"}.get(raw.text, raw.text.upper())
    told = _told(stop, word, inside=inside)
    return Complaint(SyntaxCode.FUNNEL_STEP, *told) if told else None


def _told(  # noqa: PLR0911 - one case a mistake
    stop: Stop, word: str, *, inside: bool
) -> tuple[str, str] | None:
    """Message and hint; None for what a step may be followed by, or what is no mistake of a step."""
    raw, before = stop.raw(), stop.raw(-1)
    if word == "AND":
        hint = "steps follow one another: view -> cart; for one of several write (a OR b)"
        return "AND joins no steps of a funnel", hint
    if word == "OR" and not inside:
        return "OR of types stands in parentheses of its own", "write (a OR b)"
    if raw.text in ("*", "?") or (raw.text == "+" and inside):
        hint = f"a step is a type, view, that may be repeated, view+, or several, (a OR b)+; {_ELSEWHERE}"
        return f"unexpected {raw.text} in a step of a funnel", hint
    if raw.text == "(" or (inside and raw.text in ("->", ",")):
        name = before if before.kind == "word" else raw
        hint = f"a step is one type, or several joined by OR: (a OR b); {_ELSEWHERE}"
        return f"unexpected {shown(name)} in a step of a funnel", hint
    if raw.text in _ARROWS and not inside:
        return f"unexpected {shown(raw)} between steps", "steps of a funnel are joined by ->"
    if raw.kind in ("word", "quoted") and word not in CLAUSES and not inside:
        return f"-> is missing before {shown(raw)}", "steps of a funnel are joined by ->"
    return None


def _by_missing(stop: Stop) -> Complaint | None:
    raw, before = stop.raw(), stop.raw(-1)
    if "BY" not in stop.accepted:
        return None
    message = "the funnel has no BY clause"
    hint = "a funnel counts partitions, for example users: write BY user before GROUP-BY and WITHIN"
    begins = raw.text == ":" or (before.text.upper() == "FUNNEL" and stop.raw(1).text == ":")
    if begins or raw.kind == "end":
        return Complaint(SyntaxCode.BY_MISSING, message, hint, -1 if begins else 0)
    word = raw.text.upper()
    if word in ("WHERE", "SEMANTICS") or word not in (*CLAUSES, "GROUP", "GROUP_BY"):
        return None
    clause = "GROUP-BY" if word.startswith("GROUP") else shown(raw)
    return Complaint(SyntaxCode.BY_MISSING, f"{message} before {clause}", hint)


def _attributes(stop: Stop) -> Complaint | None:
    """BY with brackets, or an attribute with its alias."""
    raw, before = stop.raw(), stop.raw(-1)
    brackets = before.text.upper() == "BY" and raw.text in ("[", "(")
    alias = raw.text == "." and stop.raw(-2).text.upper() in ("BY", ",")
    if not (brackets or alias) or not {"NAME", "COMMA"} & stop.accepted or not in_funnel(stop):
        return None
    hint = f"BY names attributes alone: BY {shown(stop.raw(1))}"
    return Complaint(SyntaxCode.UNEXPECTED, f"unexpected {raw.text} in BY", hint)


FUNNEL_GUESSES: tuple[Guess, ...] = (_name_missing, _dashes, _by_missing, _attributes, _step)
"""The surest first."""
