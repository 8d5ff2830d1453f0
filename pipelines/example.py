"""The shipped example: the ride-sharing workload and its generated events, for a run without configuration."""

from __future__ import annotations

from pathlib import Path

from hamlet_core.streams import generate_stream, write_csv
from pipelines.settings import NamedWorkload, SettingsError
from resources.storage import Location, Place

EVENTS = 200_000
SEED = 7
BROKEN_ROWS = 40
_NAME = "ride_sharing.hamlet"
_HERE = Path(__file__).resolve().parent
_PLACES = (_HERE.parent / "examples", _HERE / "examples")
"""`examples/` of a checkout, and its copy in a wheel."""


def example_workload() -> NamedWorkload:
    """The ride-sharing workload of `examples/`."""
    for place in _PLACES:
        if (place / _NAME).is_file():
            return NamedWorkload(Path(_NAME).stem, (place / _NAME).read_text(encoding="utf-8"))
    raise SettingsError(
        f"the example {_PLACES[0] / _NAME} is not here", code="E531", hint="name a workload and its events"
    )


def example_events(warehouse: Place) -> Path:
    """The example's events as CSV with some broken rows, written at the first call, on this machine."""
    path = Location.of(warehouse).state / "example_events" / "ride_sharing.csv"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        write_csv(generate_stream("ridesharing", EVENTS, SEED), unfinished, broken_rows=BROKEN_ROWS)
        unfinished.rename(path)
    return path
