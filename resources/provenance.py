"""What every commit says of itself: the run, the code and the workload that made it, as Delta's `userMetadata`."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
"""Spark setting that Delta puts into the next commit, whatever kind of commit it is."""

_ROOT = Path(__file__).resolve().parents[1]
_GIT_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who writes: a run, and the workload it is about; empty where there is none.

    >>> import json
    >>> json.loads(Provenance("run-1").message("append"))["run_id"]
    'run-1'
    """

    run_id: str = ""
    workload: str = ""
    workload_hash: str = ""

    def message(self, write: str, **more: str) -> str:
        """The JSON object of one commit: `write` is what it does, `more` whatever else there is to say."""
        told = {
            "write": write,
            "run_id": self.run_id,
            "workload": self.workload,
            "workload_hash": self.workload_hash,
            "code_version": code_version(),
            "code_commit": code_commit(),
            **more,
        }
        return json.dumps({name: value for name, value in told.items() if value}, ensure_ascii=False)


@functools.cache
def code_version() -> str:
    """The version of this package; empty where it is not installed."""
    try:
        return version("hamlet-on-spark")
    except PackageNotFoundError:
        return ""


@functools.cache
def code_commit() -> str:
    """The git commit of a checkout, with `-dirty` where files differ from it; empty for an installed package."""
    git = shutil.which("git")
    if git is None or not (_ROOT / ".git").exists():
        return ""
    command = [git, "-C", str(_ROOT), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return found.stdout.strip() if found.returncode == 0 else ""
