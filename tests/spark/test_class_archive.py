"""A session starts from the archive of Spark's classes that set-up has made, and from none that is damaged."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from resources.class_archive import archives
from tests.conftest import ROOT

pytestmark = [pytest.mark.needs_java, pytest.mark.needs_jars, pytest.mark.needs_classes]

SCRIPT = """
import sys
from dataclasses import replace
from pathlib import Path
import resources.class_archive as kept
kept.archives = lambda: Path(sys.argv[1])
from resources.environments import environment
from resources.spark import end_session, spark_session
chosen = environment()
log = f"-Xlog:class+load:file={sys.argv[2]}"
spark = spark_session(replace(chosen, java_options=(*chosen.java_options, log)))
print(spark.range(1_000).selectExpr("sum(id)").first()[0])
end_session()
"""


def started(place: Path, log: Path) -> tuple[str, int]:
    """What a session prints, and how many classes it took from the archive in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(place), str(log)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "cds" not in done.stderr
    return done.stdout.strip(), log.read_text().count("shared objects file (top)")


def test_a_session_starts_from_the_archive(tmp_path: Path) -> None:
    said, taken = started(archives(), tmp_path / "log")
    assert said == "499500"
    assert taken > 5_000


def test_a_session_starts_without_a_damaged_archive(tmp_path: Path) -> None:
    (whole,) = archives().glob("*.jsa")
    place = tmp_path / "classes"
    place.mkdir()
    damaged = Path(shutil.copyfile(whole, place / whole.name))
    draw = random.Random(7)
    with damaged.open("r+b") as file:
        for _ in range(2_000):
            file.seek(draw.randrange(1 << 16, whole.stat().st_size))
            file.write(draw.randbytes(1))
    assert started(place, tmp_path / "log") == ("499500", 0)
