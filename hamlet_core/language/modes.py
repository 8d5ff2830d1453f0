"""The names of matching modes in a text (SEMANTICS 10), and what to say of words that are none."""

from __future__ import annotations

import re
from difflib import get_close_matches

from hamlet_core.language.syntax import Mode

MODES = {mode.value: mode for mode in Mode} | {"any": Mode.ANY, "next": Mode.NEXT}
"""Every name, in lower case with hyphens -> mode."""
LONGEST = 7
"""Raw tokens of the longest name, `skip-till-any-match`."""
KNOWN = "modes are skip-till-any-match (any), skip-till-next-match (next) and contiguous"
_ELSEWHERE = {
    "strict": Mode.CONTIGUOUS,
    "strict-contiguity": Mode.CONTIGUOUS,
    "partition-contiguity": Mode.CONTIGUOUS,
    "consecutive": Mode.CONTIGUOUS,
    "relaxed": Mode.NEXT,
    "relaxed-contiguity": Mode.NEXT,
    "followed-by": Mode.NEXT,
    "stnm": Mode.NEXT,
    "non-deterministic-relaxed-contiguity": Mode.ANY,
    "followed-by-any": Mode.ANY,
    "all": Mode.ANY,
    "stam": Mode.ANY,
}
"""What other systems and papers call them."""
_BETWEEN = re.compile(r"[\s_-]+")


def mode_named(text: str) -> Mode | None:
    """The mode of a name as it stands in a text, or None if it is none.

    >>> mode_named("Skip_till NEXT-match"), mode_named("strict")
    (<Mode.NEXT: 'skip-till-next-match'>, None)
    """
    return MODES.get(_plain(text))


def nearest_mode(text: str) -> Mode | None:
    """The mode that words were probably meant as: its name elsewhere, or one that is spelled much like it.

    >>> nearest_mode("strict"), nearest_mode("SKIP TIL ANY"), nearest_mode("loose")
    (<Mode.CONTIGUOUS: 'contiguous'>, <Mode.ANY: 'skip-till-any-match'>, None)
    """
    names = MODES | _ELSEWHERE
    near = get_close_matches(_plain(text), names, n=1)
    return names[near[0]] if near else None


def mode_hint(text: str) -> str:
    """What to write in place of words that are no mode."""
    near = nearest_mode(text)
    return f"did you mean {near.value}? {KNOWN}" if near else KNOWN


def _plain(text: str) -> str:
    return _BETWEEN.sub("-", text.strip()).lower()
