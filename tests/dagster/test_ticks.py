"""A clock that is set back: sensors and schedules of Dagster go on, and do not wait until it has caught up."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorTick,
    InstigatorType,
    ScheduleInstigatorData,
    SensorInstigatorData,
    TickData,
    TickStatus,
)
from dagster._daemon.sensor import get_elapsed

from pipelines import ticks
from pipelines.instance import dagster_instance
from pipelines.ticks import forget_ticks_ahead

NOW, AHEAD = 1_800_000_000.0, 1_900_000_000.0
REPOSITORY = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("pipelines.definitions"), "__repository__")


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    monkeypatch.setattr(ticks.time, "time", lambda: NOW)
    with dagster_instance(tmp_path / "wh") as found:
        yield found


def ticked(
    instance: dg.DagsterInstance,
    name: str,
    at: float,
    data: SensorInstigatorData | ScheduleInstigatorData,
) -> InstigatorState:
    """A sensor or schedule with one tick."""
    kind = InstigatorType.SENSOR if isinstance(data, SensorInstigatorData) else InstigatorType.SCHEDULE
    origin = REPOSITORY.get_instigator_origin(name)
    state = instance.add_instigator_state(InstigatorState(origin, kind, InstigatorStatus.RUNNING, data))
    instance.create_tick(
        TickData(origin.get_id(), name, kind, TickStatus.SUCCESS, at, [], [], selector_id=state.selector_id)
    )
    return state


def now_of(instance: dg.DagsterInstance, state: InstigatorState) -> tuple[InstigatorState, InstigatorTick]:
    found = instance.get_instigator_state(state.instigator_origin_id, state.selector_id)
    assert found is not None
    (tick,) = instance.get_ticks(state.instigator_origin_id, state.selector_id)
    return found, tick


def test_a_sensor_that_has_ticked_in_the_future_is_looked_at_again(instance: dg.DagsterInstance) -> None:
    data = SensorInstigatorData(
        last_tick_timestamp=AHEAD, last_tick_start_timestamp=AHEAD, cursor="kept", min_interval=30
    )
    said: list[str] = []
    sensor = ticked(instance, "new_files", AHEAD, data)
    elapsed = get_elapsed(sensor)
    assert elapsed is not None
    forget_ticks_ahead(instance, said.append, daemon_runs=True)
    state, tick = now_of(instance, sensor)
    again = get_elapsed(state)
    assert again is not None
    assert again - elapsed == pytest.approx(AHEAD - NOW, abs=60)
    assert (tick.timestamp, tick.status) == (NOW, TickStatus.SUCCESS)
    assert isinstance(state.instigator_data, SensorInstigatorData)
    assert state.instigator_data.cursor == "kept"
    assert said == [
        "The clock has been set back: the last ticks of 1 sensors and schedules lay ahead and count as now."
    ]
    forget_ticks_ahead(instance, said.append)
    assert len(said) == 1


def test_a_schedule_that_has_ticked_in_the_future_goes_on_from_now(instance: dg.DagsterInstance) -> None:
    data = ScheduleInstigatorData("15 2 * * *", start_timestamp=NOW - 60, last_iteration_timestamp=AHEAD)
    said: list[str] = []
    schedule = ticked(instance, "jams_schedule", AHEAD, data)
    forget_ticks_ahead(instance, said.append, daemon_runs=True)
    state, tick = now_of(instance, schedule)
    assert tick.timestamp == NOW
    assert state.instigator_data == data._replace(last_iteration_timestamp=NOW)
    assert said[0].endswith("; schedules go on when `hamlet ui` is started again.")


def test_ticks_of_the_past_and_of_the_next_seconds_stay(instance: dg.DagsterInstance) -> None:
    data = SensorInstigatorData(last_tick_timestamp=NOW + 30, last_tick_start_timestamp=NOW - 30)
    said: list[str] = []
    state, tick = now_of(instance, ticked(instance, "new_files", NOW + 30, data))
    forget_ticks_ahead(instance, said.append)
    assert now_of(instance, state) == (state, tick)
    assert said == []
