"""The decision log: records of the kernel as rows that people read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hamlet_core.engines.hamlet.event_groups import Group
from hamlet_core.engines.hamlet.frame import Jobs
from hamlet_core.engines.hamlet.sharing_layout import SharingState


@dataclass(frozen=True, slots=True)
class Decided:
    """What a pass over the windows of one specification decided."""

    groups: Sequence[Group]
    state: SharingState
    jobs: Jobs
    pane: int
    """Ticks."""
