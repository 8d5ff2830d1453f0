"""How much is measured: everything, or a small version that only checks answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from tests.benchmarks.material import stream, w50

T = TypeVar("T")


@dataclass(frozen=True)
class Scale:
    """`quick`: small streams and one round, whose times mean nothing."""

    quick: bool = False

    @property
    def rounds(self) -> int:
        return 1 if self.quick else 5

    def of(self, full: T, quick: T) -> T:
        """The one or the other."""
        return quick if self.quick else full

    def w50(self, **knobs) -> str:
        """W50; quick: 6 queries over 3 types P and S."""
        return w50(**({"queries": 6, "types": 3} if self.quick else {}) | knobs)

    def stream(self, events: int, **knobs) -> pa.Table:
        """Bursts of 120 on average; quick: of 12, so that the shorter windows hold as many."""
        return stream(events, **({"burst_length": 12.0, "types": 3} if self.quick else {}) | knobs)
