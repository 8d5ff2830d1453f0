"""Ticks of sensors and schedules that lie ahead, because the clock of the machine has been set back since.

Dagster looks at a sensor again some time after its last tick, and at a schedule for moments after it. A tick that lies a
year ahead, of a clock that was wrong for a minute, so silences both for a year.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import dagster as dg
from dagster._core.scheduler.instigation import InstigatorState, ScheduleInstigatorData

AHEAD_SECONDS = 60.0
"""Ticks may lie ahead by so much: the clock is put right in small steps all the time."""


def forget_ticks_ahead(
    instance: dg.DagsterInstance, tell: Callable[[str], object], *, daemon_runs: bool = False
) -> None:
    """Let ticks that lie ahead have happened now; a daemon that runs hears of it for sensors, not for schedules."""
    now, moved, schedules = time.time(), 0, 0
    for state in instance.all_instigator_state():
        data = state.instigator_data
        times = (
            {name: value for name, value in data._asdict().items() if name.endswith("_timestamp")}
            if data
            else {}
        )
        ahead: dict[str, Any] = {
            name: now for name, value in times.items() if value and value > now + AHEAD_SECONDS
        }
        if data is not None and ahead:
            instance.update_instigator_state(state.with_data(data._replace(**ahead)))
        if _move_ticks(instance, state, now) or ahead:
            moved += 1
            schedules += isinstance(data, ScheduleInstigatorData)
    if moved:
        again = "; schedules go on when `hamlet ui` is started again" if schedules and daemon_runs else ""
        tell(
            f"The clock has been set back: the last ticks of {moved} sensors and schedules lay ahead and count as "
            f"now{again}."
        )


def _move_ticks(instance: dg.DagsterInstance, state: InstigatorState, now: float) -> int:
    """Let the ticks of one that lie ahead have happened now; their number."""
    ticks = instance.get_ticks(state.instigator_origin_id, state.selector_id, after=now + AHEAD_SECONDS)
    for tick in ticks:
        instance.update_tick(tick._replace(tick_data=tick.tick_data._replace(timestamp=now)))
    return len(ticks)
