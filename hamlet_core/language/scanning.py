"""Text to raw words and signs with their places; knows nothing of the grammar."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass

from hamlet_core.errors import QuerySyntaxError
from hamlet_core.language.codes import SyntaxCode
from hamlet_core.language.syntax import Span

_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_RAW = re.compile(
    rf"""(?P<space>[\s\ufeff]+|(?:--|\#)[^{_LINE_ENDS}]*)
    |(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
    |(?P<word>[^\W\d]\w*)
    |(?P<quoted>"[^"]*(?:""[^"]*)*")
    |(?P<string>'[^']*(?:''[^']*)*')
    |(?P<sign>->|<=|>=|<>|!=|==|[-+*/%=<>()\[\],.:?\u2227\u2228])
    |(?P<stray>.)""",
    re.VERBOSE | re.DOTALL,
)
_REPLACEMENTS = {
    "\u2018": "strings stand in straight single quotes: 'text'",
    "\u2019": "strings stand in straight single quotes: 'text'",
    "\u201c": "strings stand in straight single quotes: 'text'",
    "\u201d": "strings stand in straight single quotes: 'text'",
    "\u2264": "write <=",
    "\u2265": "write >=",
    "\u2260": "write !=",
    "\u2212": "write the plain minus sign -",
    "\u00d7": "write *",
    "\u00ac": "write NOT",
    "\u2192": "write ->",
    "\u21d2": "write ->",
    "\u27f6": "write ->",
    "!": "write != or NOT",
    "&": "write AND",
    "|": "write OR",
    "\u22c0": "write AND",
    "\u22c1": "write OR",
    ";": "queries follow one another without a sign between them",
    "{": "a repeated pattern is written P+, P* or P?",
}


@dataclass(frozen=True, slots=True)
class RawToken:
    """One word or sign: `kind` is number, word, quoted, string, sign or end; `end` is exclusive."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def value(self) -> str:
        """The text without its quotes."""
        if self.kind not in ("quoted", "string"):
            return self.text
        quote = self.text[0]
        return self.text[1:-1].replace(quote * 2, quote)


@dataclass(frozen=True, slots=True)
class Scan:
    """A text, its raw tokens (the last one is the end) and where its lines start."""

    text: str
    tokens: tuple[RawToken, ...]
    line_starts: tuple[int, ...]

    def place(self, offset: int) -> Span:
        """Line and column of an offset, both from 1, in code points."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1


def scan(text: str) -> Scan:
    """Cut a text into raw tokens; raises QuerySyntaxError for what is neither word, number nor sign."""
    starts = _line_starts(text)
    tokens: list[RawToken] = []
    for match in _RAW.finditer(text):
        kind = str(match.lastgroup)
        if kind != "space":
            tokens.append(RawToken(kind, match[0], match.start(), match.end()))
    end = tokens[-1].end if tokens else 0
    scanned = Scan(text, (*tokens, RawToken("end", "", end, end)), starts)
    _refuse_broken(scanned)
    return scanned


def _line_starts(text: str) -> tuple[int, ...]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    ended = text[-1:] in tuple(_LINE_ENDS)
    return tuple(starts if ended or len(starts) == 1 else starts[:-1])


def _refuse_broken(scanned: Scan) -> None:
    surrogate = re.search("[\ud800-\udfff]", scanned.text)
    if surrogate:
        raise _error(
            scanned, surrogate.start(), SyntaxCode.BROKEN_TEXT, "half a character (a lone surrogate)", ""
        )
    for token in scanned.tokens:
        if token.kind == "stray":
            raise _stray(scanned, token)
        if token.text == '""':
            raise _error(scanned, token.start, SyntaxCode.EMPTY_NAME, 'the name "" is empty', "")


def _stray(scanned: Scan, token: RawToken) -> QuerySyntaxError:
    if token.text == "'":
        message, hint = (
            "the string that starts here is not closed",
            "a quote inside a string is written twice: ''",
        )
        return _error(scanned, token.start, SyntaxCode.OPEN_STRING, message, hint)
    if token.text == '"':
        message = "the name in double quotes that starts here is not closed"
        return _error(scanned, token.start, SyntaxCode.OPEN_STRING, message, "")
    shown = (
        token.text if token.text.isprintable() and not token.text.isspace() else f"U+{ord(token.text):04X}"
    )
    if unicodedata.combining(token.text):
        shown = f"U+{ord(token.text):04X}"
    hint = _REPLACEMENTS.get(
        token.text, "names with other characters than letters, digits and _ stand in double quotes"
    )
    return _error(scanned, token.start, SyntaxCode.STRAY_CHARACTER, f"unexpected character {shown}", hint)


def _error(scanned: Scan, offset: int, code: SyntaxCode, message: str, hint: str) -> QuerySyntaxError:
    line, column = scanned.place(offset)
    return QuerySyntaxError(message, code=code.value, hint=hint, line=line, column=column, text=scanned.text)
