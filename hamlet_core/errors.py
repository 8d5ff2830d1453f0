"""The error family: every failure a user can cause is a `HamletError` with a stable code and a hint."""

from __future__ import annotations


class HamletError(Exception):
    """Anything this package refuses; `code` is stable, `hint` says what to do (or is empty)."""

    def __init__(self, message: str, *, code: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint

    def __str__(self) -> str:
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"[{self.code}] {self.message}{hint}"

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
            source = lines[self.line - 1].replace("\t", " ")
            shown = f"\n  {source}\n  {' ' * (self.column - 1)}^"
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"[{self.code}] line {self.line}, column {self.column}: {self.message}{shown}{hint}"


class QuerySyntaxError(_TextError):
    """The text is not a workload: wrong grammar."""


class QueryMeaningError(_TextError):
    """The text parses, but says something that has no meaning (unknown alias, NEXT on no edge, ...)."""


class StreamError(HamletError, ValueError):
    """The events do not fit the queries: missing column, NULL time, NaN, a type a predicate cannot use."""


class InvariantError(HamletError, AssertionError):
    """A bug of ours: a stage broke its own invariant; the message names the stage."""
