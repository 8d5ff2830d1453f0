"""The Dagster instance of a warehouse: its runs and checks are kept beside its tables if they are on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from resources.dagster_store import HOME, SETTINGS_FILE, refuse_damaged, wrong_settings
from resources.failures import explained
from resources.rights import require_writable
from resources.storage import Location, Place

if TYPE_CHECKING:
    import dagster as dg

_BEFORE = """\
# Nothing leaves this machine, and the first visit shows the assets instead of a survey.
telemetry:
  enabled: false
nux:
  enabled: false
# One JVM at a time on one machine; the warehouse lock, not a pool slot, guards against a killed run.
concurrency:
  runs:
    max_concurrent_runs: 1
"""
"""The settings that older releases wrote."""
SETTINGS = f"""\
{_BEFORE}# The terminal shows progress and failures; the pages have every event of a run, as they always do.
python_logs:
  python_log_level: INFO
"""


def dagster_home(warehouse: Place) -> Path:
    """The folder of the instance, made with its settings if it is not there; settings that somebody edited stay.

    Raises EnvironmentProblem where it may not be written (E515) or is damaged (E517).
    """
    state = Location.of(warehouse).state
    require_writable(state)
    home = state / HOME
    refuse_damaged(home)
    home.mkdir(parents=True, exist_ok=True)
    settings = home / SETTINGS_FILE
    if not settings.exists() or _as_before(settings):
        settings.write_text(SETTINGS, encoding="utf-8")
    return home


def _as_before(settings: Path) -> bool:
    """Whether an older release wrote the settings, and nobody since."""
    try:
        return settings.read_bytes() == _BEFORE.encode()
    except OSError:  # which who reads them says better
        return False


def dagster_instance(warehouse: Place) -> dg.DagsterInstance:
    """The instance itself; use it in a `with`. What steps print is not caught: it is on the terminal of the command.

    To catch it Dagster starts processes of its own, which a Ctrl-C stops with tracebacks.
    """
    import dagster as dg
    from dagster._check import CheckError
    from dagster._core.instance import InstanceRef

    nothing = {"module": "dagster._core.storage.noop_compute_log_manager", "class": "NoOpComputeLogManager"}
    home = dagster_home(warehouse)
    try:
        return dg.DagsterInstance.from_ref(
            InstanceRef.from_dir(str(home), overrides={"compute_logs": nothing})
        )
    except (dg.DagsterError, CheckError) as failure:
        raise wrong_settings(home, failure) from failure


def explain_lost_events(instance: dg.DagsterInstance, folder: Path | None) -> None:
    """What an event raises that cannot be stored, on a full disk say, is the error that stands for it.

    Dagster prints what is raised. A line of progress is not worth a run: it is on the terminal, and only its copy is lost.
    """
    store = instance.handle_new_event

    def handle_new_event(event: dg.EventLogEntry, **options: Any) -> None:
        try:
            store(event, **options)
        except Exception as failure:
            known = explained(failure, folder)
            if known is None:
                raise
            if event.is_dagster_event:
                raise known from failure

    instance.handle_new_event = handle_new_event  # type: ignore[method-assign]
