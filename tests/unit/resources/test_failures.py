"""What stops a run for want of memory or inodes is told with the setting that helps, and its value now."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from py4j.protocol import Py4JError

from resources.failures import explained
from tests.conftest import ROOT, tmpfs_command

NO_INODES = """
import subprocess, sys
from pathlib import Path
from resources.failures import explained, require_room
place = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,nr_inodes=20", "tmpfs", str(place)], check=True)
require_room(place / "warehouse")
try:
    for number in range(40):
        (place / str(number)).touch()
except OSError as failure:
    print(explained(failure, place / "warehouse"))
try:
    require_room(place / "warehouse")
except Exception as failure:
    print(failure)
"""


@pytest.mark.needs_tmpfs
def test_a_disk_without_inodes_is_not_called_full(tmp_path: Path) -> None:
    done = subprocess.run(
        [*tmpfs_command(), sys.executable, "-c", NO_INODES, str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.split("[E510] ")[1:]
    assert first == second
    assert re.match(
        rf"the disk of {tmp_path} has no inode left: it holds 20 files and folders, and takes no more, "
        r"with 6\d MiB free\n  hint: delete files there",
        first,
    ), first


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("java.lang.OutOfMemoryError: Java heap space", "E507"),
        ("java.lang.OutOfMemoryError: GC overhead limit exceeded", "E507"),
        ("Answer from Java side is empty", "E512"),
        ("An error occurred while trying to connect to the Java server (127.0.0.1:1)", "E512"),
    ],
)
def test_where_memory_may_have_run_out_its_setting_and_value_are_told(
    monkeypatch: pytest.MonkeyPatch, said: str, code: str
) -> None:
    monkeypatch.setenv("HAMLET_DRIVER_MEMORY", "1357m")
    found = explained(Py4JError(said))
    assert found is not None
    assert found.code == code
    assert "set HAMLET_DRIVER_MEMORY to more than the 1357m it has now" in found.hint
