"""What an LALR parser can take next, asked without disturbing it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lark.parsers.lalr_analysis import Shift
from lark.parsers.lalr_parser_state import ParserState

END = "$END"
"""The terminal after the last token."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The parser's stack of states at one moment, with its tables."""

    stack: tuple[Any, ...] | list[Any]
    states: dict[Any, dict[str, Any]]
    end_state: Any

    @classmethod
    def of(cls, parser: ParserState[Any]) -> Acceptance:
        """A live view: it follows the parser until `kept`."""
        return cls(parser.state_stack, parser.parse_conf.states, parser.parse_conf.end_state)

    def kept(self) -> Acceptance:
        """The same moment, no longer following the parser."""
        return Acceptance(tuple(self.stack), self.states, self.end_state)

    def accepts(self, terminal: str) -> bool:
        """Whether the terminal can be shifted, after the reductions that it asks for.

        A table of LALR(1) merges contexts, so its entry alone may promise what a later state refuses.
        """
        below, above = len(self.stack), list[Any]()
        while True:
            step = self.states[above[-1] if above else self.stack[below - 1]].get(terminal)
            if step is None:
                return False
            action, rule = step
            if action is Shift:
                return True
            popped = min(len(rule.expansion), len(above))
            del above[len(above) - popped :]
            below -= len(rule.expansion) - popped
            above.append(self.states[above[-1] if above else self.stack[below - 1]][rule.origin.name][1])
            if terminal == END and above[-1] == self.end_state:
                return True

    def accepted(self) -> frozenset[str]:
        """All terminals that can come next."""
        top = self.states[self.stack[-1]]
        return frozenset(name for name in top if (name.isupper() or name == END) and self.accepts(name))
