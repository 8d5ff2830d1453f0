"""A store of Dagster that is damaged, and settings that are none, are told with the file; deleted, it is made anew."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from pipelines.cli import main as hamlet
from pipelines.instance import dagster_home, dagster_instance, explain_lost_events
from resources.failures import explained
from resources.problems import EnvironmentProblem

DATABASES = ("history/runs.db", "history/runs/index.db", "schedules/schedules.db")


@dg.asset
def one() -> int:
    return 1


@dg.asset
def talking(context) -> None:  # type: ignore[no-untyped-def]  # Dagster takes no annotation that is a text
    context.log.info("half done")


def use(warehouse: Path) -> None:
    """Everything that a run and the pages ask the store for."""
    with dagster_instance(warehouse) as instance:
        assert dg.materialize([one], instance=instance).success
        assert instance.get_runs()
        assert instance.all_instigator_state() == []


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def overwritten(path: Path) -> None:
    path.write_bytes(b"\0garbage\xff" * 2_000)


@pytest.mark.parametrize("harm", [cut, overwritten])
@pytest.mark.parametrize("database", DATABASES)
def test_a_damaged_database_is_named_and_made_anew(
    tmp_path: Path, database: str, harm: Callable[[Path], None]
) -> None:
    use(tmp_path)
    file = tmp_path / ".dagster" / database
    harm(file)
    with pytest.raises(EnvironmentProblem, match=r"\[E517\] a database of Dagster is damaged") as caught:
        use(tmp_path)
    assert str(file) in caught.value.message
    assert "delete this file and run again" in caught.value.hint
    file.unlink()
    use(tmp_path)


def test_a_database_that_is_damaged_deep_inside_is_found_when_sqlite_meets_it(tmp_path: Path) -> None:
    use(tmp_path)
    (file,) = (tmp_path / ".dagster" / "history" / "runs").glob("*-*.db")
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    file.write_bytes(content)
    found = explained(sqlite3.DatabaseError("database disk image is malformed"), tmp_path)
    assert found is not None
    assert found.code == "E517"
    assert str(file) in found.message


@pytest.mark.parametrize(
    "text",
    ["a: [", "hello", "- a\n", "\0\1", "version: 3\nservices:\n  db: {}\n",
     "run_storage:\n  module: no.such\n  class: X\n  config: {}\n"],
    ids=["cut", "text", "list", "binary", "foreign", "class"],
)  # fmt: skip
def test_settings_that_are_none_are_named(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = dagster_home(tmp_path) / "dagster.yaml"
    settings.write_text(text)
    with pytest.raises(EnvironmentProblem, match=r"\[E517\]") as caught:
        use(tmp_path)
    assert caught.value.message.startswith(f"{settings} holds no settings of a Dagster instance: ")
    assert hamlet(["ui", "--warehouse", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert f"Error: [E517] {settings} holds no settings" in said
    assert "Traceback" not in said
    settings.unlink()
    use(tmp_path)


def test_settings_that_are_empty_or_of_a_user_stay(tmp_path: Path) -> None:
    settings = dagster_home(tmp_path) / "dagster.yaml"
    for text in ("", "telemetry:\n  enabled: false\n"):
        settings.write_text(text)
        use(tmp_path)
        assert settings.read_text() == text


def test_settings_of_an_older_release_are_brought_up_to_date(tmp_path: Path) -> None:
    settings = dagster_home(tmp_path) / "dagster.yaml"
    new = settings.read_text()
    settings.write_text(new[: new.index("# The terminal shows")])
    assert dagster_home(tmp_path) / "dagster.yaml" == settings
    assert settings.read_text() == new


def test_a_run_of_the_pages_writes_no_line_of_debug_and_all_of_its_events(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with dagster_instance(tmp_path) as instance:
        done = dg.materialize([talking], instance=instance)
        kinds = {entry.dagster_event_type for entry in instance.all_logs(done.run_id)}
    said = capfd.readouterr().err
    assert "half done" in said
    assert "DEBUG" not in said
    assert {dg.DagsterEventType.STEP_SUCCESS, dg.DagsterEventType.ASSET_MATERIALIZATION} <= kinds


@pytest.mark.parametrize("of_the_run", [True, False])
def test_what_a_full_disk_does_to_an_event_is_told_without_its_database(
    tmp_path: Path, of_the_run: bool, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resources.failures._free", lambda _: 0)
    with dagster_instance(tmp_path) as instance:
        explain_lost_events(instance, tmp_path)
        storage = type(instance.event_log_storage)
        store = storage.store_event

        def full(self: object, event: dg.EventLogEntry) -> None:
            materialized = event.is_dagster_event and event.get_dagster_event().is_step_materialization
            if materialized if of_the_run else event.user_message == "half done":
                raise sqlite3.OperationalError("(sqlite3.OperationalError) disk I/O error")
            store(self, event)  # type: ignore[arg-type]

        monkeypatch.setattr(storage, "store_event", full)
        done = dg.materialize([talking], instance=instance, raise_on_error=False)
    printed = [line for line in capfd.readouterr().err.splitlines() if line.startswith("Exception while")]
    assert done.success is not of_the_run
    assert not [line for line in printed if "sqlite3" in line]
    assert any("[E510]" in line for line in printed) is of_the_run
