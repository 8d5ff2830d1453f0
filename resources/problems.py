"""What can be wrong with the machine: one finding for each thing looked at, one error for all that failed."""

from __future__ import annotations

from dataclasses import dataclass

from hamlet_core.errors import HamletError


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: what was found, and the one-line cure where it is not as Spark needs it."""

    name: str
    ok: bool
    found: str
    cure: str = ""
    code: str = "E500"

    @property
    def line(self) -> str:
        """The finding as one line for a terminal."""
        return f"{self.name}: {self.found}" + ("" if self.ok else f" -> {self.cure}")


class EnvironmentProblem(HamletError, RuntimeError):
    """The machine, not the data or the query, is in the way; the message has one line per problem."""

    @classmethod
    def of(cls, findings: tuple[Finding, ...]) -> EnvironmentProblem:
        """The error for `findings`, which all failed; its code is that of the first."""
        lines = "\n  ".join(finding.line for finding in findings)
        return cls(f"Spark cannot start on this machine:\n  {lines}", code=findings[0].code)
