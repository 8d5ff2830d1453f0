"""The names of matching modes in a text (SEMANTICS 10)."""

from __future__ import annotations

import re

from hamlet_core.language.syntax import Mode

MODES = {mode.value: mode for mode in Mode} | {"any": Mode.ANY, "next": Mode.NEXT}
"""Every name, in lower case with hyphens -> mode."""
_BETWEEN = re.compile(r"[\s_-]+")


def mode_named(text: str) -> Mode:
    """The mode of a name as it stands in a text.

    >>> mode_named("Skip_till NEXT-match")
    <Mode.NEXT: 'skip-till-next-match'>
    """
    return MODES[_BETWEEN.sub("-", text).lower()]
