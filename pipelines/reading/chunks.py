"""A chunk: some consecutive records of a file, before their columns are typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pipelines.reading.reasons import Reason

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BrokenRecord:
    """A record that has no columns at all: why, and its text."""

    number: int
    raw: str
    reason: Reason
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Records with columns (`numbers` are theirs, from 1), and broken ones.

    A column is what its format gives: binary or NULL (CSV), a list of parsed values or `json_lines.Values` (JSON), a typed array
    (Parquet).
    `raw(i)` is the text of the i-th record with columns.
    """

    numbers: Numbers
    columns: Mapping[str, Any]
    broken: tuple[BrokenRecord, ...]
    raw: Callable[[int], str]

    def after(self, records: int) -> Chunk:
        """The same behind so many records."""
        broken = tuple(replace(one, number=one.number + records) for one in self.broken)
        return replace(self, numbers=self.numbers + records, broken=broken)


class UnreadableFileError(Exception):
    """A whole file, or the rest of it, that cannot be read; the message says why and what is lost."""


def shown(content: bytes) -> str:
    """Bytes as text; those that are not UTF-8 by their hexadecimal codes."""
    return content.decode("utf-8", errors="backslashreplace")
