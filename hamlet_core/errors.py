"""The error family: every failure a user can cause is a `HamletError` with a stable code and a hint."""

from __future__ import annotations

LONGEST_LINE = 1_000
"""Code points of a line that an error shows: names and values may have any length."""


class HamletError(Exception):
    """Anything this package refuses; `code` is stable, `hint` says what to do (or is empty)."""

    def __init__(self, message: str, *, code: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint

    def __str__(self) -> str:
        return f"[{self.code}] {_cut(self.message)}{self._advice()}"

    def _advice(self) -> str:
        return f"\n  hint: {_cut(self.hint)}" if self.hint else ""

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), dict(self.__dict__))


def _rebuild(kind: type[HamletError], state: dict[str, object]) -> HamletError:
    """Unpickle an error: workers of a cluster must be able to send it home."""
    error = kind.__new__(kind)
    Exception.__init__(error, state["message"])
    error.__dict__.update(state)
    return error


class _TextError(HamletError, ValueError):
    """An error at a place in the workload text; `line` and `column` count from 1, in code points."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        hint: str = "",
        line: int = 1,
        column: int = 1,
        text: str = "",
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.line = line
        self.column = column
        self.text = text

    def __str__(self) -> str:
        lines = self.text.splitlines()
        shown = ""
        if 1 <= self.line <= len(lines):
            source, column = _around(lines[self.line - 1].replace("\t", " "), self.column)
            shown = f"\n  {source}\n  {' ' * (column - 1)}^"
        told = f"[{self.code}] line {self.line}, column {self.column}: {_cut(self.message)}"
        return f"{told}{shown}{self._advice()}"


def _cut(words: str) -> str:
    """Words for people, long lines without their middle."""
    return "\n".join(
        line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE // 2]} ... {line[-LONGEST_LINE // 2 :]}"
        for line in words.split("\n")
    )


def _around(line: str, column: int) -> tuple[str, int]:
    """What an error shows of a line, and where the column is in that."""
    start = max(0, min(column - 1 - LONGEST_LINE // 2, len(line) - LONGEST_LINE))
    end = start + LONGEST_LINE
    before, after = "..." if start else "", "..." if end < len(line) else ""
    return f"{before}{line[start:end]}{after}", column - start + len(before)


class QuerySyntaxError(_TextError):
    """The text is not a workload: wrong grammar."""


class QueryMeaningError(_TextError):
    """The text parses, but says something that has no meaning (unknown alias, NEXT on no edge, ...)."""


class StreamError(HamletError, ValueError):
    """The events do not fit the queries: missing column, NULL time, NaN, a type a predicate cannot use."""


class InvariantError(HamletError, AssertionError):
    """A bug of ours: a stage broke its own invariant; the message names the stage."""
