"""The lock of a warehouse: one process at a time, the holder is named, waiting helps, the dead hold nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from resources.warehouse_lock import WarehouseBusy, exclusive

ROOT = Path(__file__).resolve().parents[3]
HOLD = """
import sys, time
from pathlib import Path
from resources.warehouse_lock import exclusive
with exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def hold(place: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLD, str(place), str(seconds)]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    with hold(tmp_path, 60) as process:
        yield process
        process.kill()


def test_a_second_process_is_refused_and_told_who_has_it(tmp_path, holder):
    with pytest.raises(WarehouseBusy) as busy, exclusive(tmp_path):
        pass
    assert busy.value.code == "E520"
    assert f"process {holder.pid} on " in str(busy.value)
    assert len(str(busy.value).splitlines()) == 2


def test_a_killed_process_holds_nothing(tmp_path, holder):
    holder.kill()
    holder.wait()
    with exclusive(tmp_path):
        pass


def test_waiting_says_for_whom_and_gets_the_warehouse_when_its_run_ends(tmp_path):
    said: list[str] = []
    with hold(tmp_path, 1.0) as holder, exclusive(tmp_path, wait_seconds=30, tell=said.append):
        pass
    (line,) = said
    assert line.startswith(f"waiting up to 30 s for process {holder.pid} on ")
    assert line.endswith(f", which has the warehouse {tmp_path}")


def test_who_does_not_wait_says_nothing(tmp_path, holder):
    said: list[str] = []
    with pytest.raises(WarehouseBusy), exclusive(tmp_path, tell=said.append):
        pass
    assert said == []


def test_an_exception_releases_it(tmp_path):
    with pytest.raises(KeyError), exclusive(tmp_path):
        raise KeyError
    with exclusive(tmp_path):
        pass
