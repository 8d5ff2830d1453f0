"""Dagster's own files beside the tables, its databases and settings: which of them is damaged, and what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import yaml

from resources.problems import EnvironmentProblem

HOME = ".dagster"
"""The folder of the instance, in the warehouse or where its state is kept."""

SETTINGS_FILE = "dagster.yaml"
_LIVE = ("history/runs.db", "history/runs/index.db", "schedules/schedules.db")
_QUICK = "SELECT version_num FROM alembic_version"
_WHOLE = "PRAGMA quick_check(1)"


def refuse_damaged(home: Path) -> None:
    """Raise EnvironmentProblem (E517) where Dagster could not open the instance in `home`, which may not exist yet."""
    settings = home / SETTINGS_FILE
    if settings.exists():
        try:
            found = yaml.safe_load(settings.read_bytes())
        except yaml.YAMLError as failure:
            raise wrong_settings(home, failure) from failure
        if found is not None and not isinstance(found, dict):
            raise wrong_settings(home, "it is no mapping of settings")
    if damaged := _first_damaged((home / name for name in _LIVE), _QUICK):
        raise damaged


def damaged_store(home: Path) -> EnvironmentProblem | None:
    """The error for the first of Dagster's databases that SQLite finds damaged, read from end to end."""
    return _first_damaged(sorted(home.glob("**/*.db")), _WHOLE)


def wrong_settings(home: Path, why: object) -> EnvironmentProblem:
    """The error for a `dagster.yaml` that Dagster does not take."""
    return EnvironmentProblem(
        f"{home / SETTINGS_FILE} holds no settings of a Dagster instance: {' '.join(str(why).split())[:300]}",
        code="E517",
        hint="correct it, or delete it: the next run writes it anew; the tables are not touched by this",
    )


def _first_damaged(files: Iterable[Path], question: str) -> EnvironmentProblem | None:
    for file in files:
        if file.exists() and (why := _damage(file, question)):
            return EnvironmentProblem(
                f"a database of Dagster is damaged: {file} ({why})",
                code="E517",
                hint="stop `hamlet ui`, delete this file and run again: the pages forget past runs, and which schedules "
                "and sensors are on, as far as it says so; the tables stay",
            )
    return None


def _damage(file: Path, question: str) -> str | None:
    """What SQLite says of a damaged file; None for a sound one, and for one that is just being written."""
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
            rows = database.execute(question).fetchall()
    except sqlite3.OperationalError:
        return None
    except sqlite3.DatabaseError as failure:
        return str(failure)
    return str(rows[0][0]) if question == _WHOLE and rows != [("ok",)] else None
