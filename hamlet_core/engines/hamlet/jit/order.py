"""In which order a process compiles: a second one that begins with what the first comes to last halves the time.

Who finds a kernel in work waits for it (`cache.py`), so that each is compiled once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Stage = TypeVar("Stage")

_backwards = [False]


def compile_backwards() -> None:
    """This process folds no events, but compiles what folding them would need, last things first."""
    _backwards[0] = True


def is_backwards() -> bool:
    """Whether this process compiles last things first."""
    return _backwards[0]


def in_order(stages: Sequence[Stage]) -> Sequence[Stage]:
    """The stages of a fold, in this process's order."""
    return stages[::-1] if _backwards[0] else stages
