"""Raw tokens to grammar terminals: a word is a keyword only where the grammar can use one, else a name.

This is the lexer of the LALR parser in `grammar.lark`. It asks the parser what fits before each token, so it is
also the place where a text is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lark.lexer import Lexer, LexerState, Token
from lark.parsers.lalr_parser_state import ParserState

from hamlet_core.language.acceptance import END, Acceptance
from hamlet_core.language.complaints import complain, too_deep
from hamlet_core.language.limits import MAX_NESTING
from hamlet_core.language.modes import LONGEST, mode_named
from hamlet_core.language.scanning import RawToken, Scan
from hamlet_core.language.stops import Situation

_COMPARISONS = frozenset(("=", "==", "!=", "<>", "<", "<=", ">", ">="))
_FUNCTIONS = frozenset(("SUM", "AVG", "MIN", "MAX"))
_CALLED = _FUNCTIONS | {"COUNT", "REACH", "SEQ", "NEXT"}
_CLAUSES = frozenset(("RETURN", "PATTERN", "SEMANTICS", "WHERE", "WITHIN", "WINDOW", "SLIDE"))
_RESERVED = _CLAUSES | {"AND", "OR", "NOT", "IN", "IS", "LIKE", "BETWEEN", "GROUP"}
_LOGIC_SIGNS = {"\u2227": "AND", "\u2228": "OR"}
_STATES_PER_LEVEL = 20
"""More parser states than any one level of nesting needs."""


class WordLexer(Lexer):
    """The lexer that `lark.Lark` drives; its input is a `Scan`."""

    __future_interface__ = 1

    def __init__(self, lexer_conf: Any) -> None:
        fixed = [terminal for terminal in lexer_conf.terminals if terminal.pattern.type == "str"]
        self._terminals = {terminal.pattern.value: str(terminal.name) for terminal in fixed}

    def lex(self, lexer_state: LexerState, parser_state: ParserState[Any]) -> Iterator[Token]:
        """The tokens of a scan, each chosen by what the parser can take at that moment."""
        scanned: Any = lexer_state.text
        return _Reading(scanned, parser_state, self._terminals).tokens()


class _Reading:
    """One pass over a scan: mutable, because each choice depends on the parser's state at that moment."""

    def __init__(self, scanned: Scan, parser: ParserState[Any], terminals: dict[str, str]) -> None:
        self._scanned = scanned
        self._stack = parser.state_stack
        self._acceptance = Acceptance.of(parser)
        self._terminals = terminals
        self._index = 0
        self._open: list[RawToken] = []

    def tokens(self) -> Iterator[Token]:
        """Yield until the end; raises QuerySyntaxError at the first token that fits nowhere."""
        doubtful: Situation | None = None
        while True:
            raw = self._raw(0)
            terminal, length = self._choose(raw)
            if not self._acceptance.accepts(terminal):
                raise complain(doubtful or self._situation())
            if raw.kind == "end":
                return
            reserved = terminal == "NAME" and raw.text.upper() in _RESERVED and self._raw(-1).text != "."
            doubtful = self._situation() if reserved else None
            self._watch_depth(raw)
            covered = self._scanned.tokens[self._index : self._index + length]
            self._index += length
            yield self._token(terminal, covered)

    def _raw(self, ahead: int) -> RawToken:
        index = min(self._index + ahead, len(self._scanned.tokens) - 1)
        return self._scanned.tokens[index if index >= 0 else -1]

    def _situation(self) -> Situation:
        return Situation(self._scanned, self._index, tuple(self._open), self._acceptance.kept())

    def _choose(self, raw: RawToken) -> tuple[str, int]:
        """The terminal for a raw token, and how many raw tokens it covers."""
        match raw.kind:
            case "end":
                return END, 1
            case "sign":
                return self._sign(raw), 1
            case "word":
                return self._word(raw)
            case "quoted":
                return ("LABEL" if self._is_label() else "QUOTED"), 1
        return raw.kind.upper(), 1

    def _sign(self, raw: RawToken) -> str:
        if raw.text in _COMPARISONS:
            return "COMPARISON"
        if raw.text == "-" and self._raw(1).kind == "number" and self._acceptance.accepts("SIGN"):
            return "SIGN"
        return self._terminals[_LOGIC_SIGNS.get(raw.text, raw.text)]

    def _word(self, raw: RawToken) -> tuple[str, int]:  # noqa: PLR0911 - one case a kind of word
        if self._is_label():
            return "LABEL", 1
        if self._acceptance.accepts("MODE") and (mode := self._mode_length()):
            return "MODE", mode
        length = self._group_by_length()
        # Where BY may follow, GROUP is no alias before it.
        if length and (self._acceptance.accepts("_GROUP_BY") or self._acceptance.accepts("BY")):
            return "_GROUP_BY", length
        keyword = self._keyword(raw)
        if keyword and self._acceptance.accepts(keyword):
            return keyword, 1
        reserved = length or raw.text.upper() in _RESERVED
        if not reserved and self._raw(1).text != "." and self._acceptance.accepts("UNIT"):
            return "UNIT", 1
        if self._acceptance.accepts("NAME"):
            return "NAME", 1
        return ("_GROUP_BY", length) if length else (keyword or "NAME", 1)

    def _is_label(self) -> bool:
        return self._raw(1).text == ":" and self._acceptance.accepts("LABEL")

    def _group_by_length(self) -> int:
        words = [self._raw(ahead).text.upper() for ahead in range(3)]
        if words[0] == "GROUP_BY":
            return 1
        if words[:2] == ["GROUP", "BY"]:
            return 2
        return 3 if words == ["GROUP", "-", "BY"] else 0

    def _mode_length(self) -> int:
        """How many raw tokens the longest name of a mode takes here; its words are joined as those of GROUP-BY."""
        found, words = 0, list[str]()
        for ahead in range(LONGEST):
            raw = self._raw(ahead)
            if raw.kind == "word":
                words.append(raw.text)
                found = ahead + 1 if mode_named("-".join(words)) else found
            elif raw.text != "-" or not words:
                break
        return 0 if self._raw(found).text == "-" else found

    def _keyword(self, raw: RawToken) -> str | None:
        """The keyword terminal a word may be, judged by the raw token that follows it."""
        word, following = raw.text.upper(), self._raw(1)
        if following.text == "." or (word in _CALLED and following.text != "("):
            return None
        if word == "TIMESTAMP" and following.kind != "string":
            return None
        return "FUNCTION" if word in _FUNCTIONS else self._terminals.get(word)

    def _watch_depth(self, raw: RawToken) -> None:
        if raw.kind == "sign" and raw.text in "([":
            self._open.append(raw)
        elif raw.kind == "sign" and raw.text in ")]" and self._open:
            self._open.pop()
        if len(self._open) > MAX_NESTING or len(self._stack) > _STATES_PER_LEVEL * MAX_NESTING:
            raise too_deep(self._scanned.text, self._scanned.place(raw.start))

    def _token(self, terminal: str, covered: tuple[RawToken, ...]) -> Token:
        start, end = covered[0].start, covered[-1].end
        line, column = self._scanned.place(start)
        end_line, end_column = self._scanned.place(end)
        text = "-".join(raw.value for raw in covered if len(covered) == 1 or raw.kind == "word")
        return Token(terminal, text, start, line, column, end_line, end_column, end)
