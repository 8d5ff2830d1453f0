"""The built wheel in an empty environment: the library and `hamlet run` alone, and the pipeline with its extra."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from resources.jars import jar_places
from tests.conftest import ROOT, find_uv

pytestmark = pytest.mark.needs_uv

QUERY = "jams: RETURN car, COUNT(*), MIN(t.speed) PATTERN Travel t+ WHERE [car] GROUP-BY car WITHIN 1 hour"
EVENTS = "time,type,car,speed\n" + "".join(
    f"2026-01-05T08:0{row}:00Z,Travel,7,{40 - row}\n" for row in range(3)
)
CORE = {"hamlet-on-spark", "lark", "numpy", "pyarrow", "numba", "llvmlite", "click", "rich"}
OF_RICH = {"markdown-it-py", "mdurl", "pygments"}


class Environment:
    """An empty environment, and three rows of events beside it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        build = (sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(place))
        subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
        (self.wheel,) = place.glob("*.whl")
        self.uv("venv", "--python", sys.executable, str(place / "env"))
        (place / "q.hamlet").write_text(QUERY)
        (place / "events.csv").write_text(EVENTS)

    def uv(self, *arguments: str) -> str:
        """What uv says."""
        command = (str(find_uv()), *arguments)
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=self.place)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def install(self, extra: str = "") -> set[str]:
        """Install the wheel; the names of all that is there then."""
        python = ("--python", str(self.place / "env"))
        self.uv(
            "pip", "install", *python, "--constraint", str(ROOT / "constraints.txt"), f"{self.wheel}{extra}"
        )
        return {one["name"] for one in json.loads(self.uv("pip", "list", *python, "--format", "json"))}

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a program there, in a folder without our sources."""
        environ = {
            name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")
        }
        jars = next(place for place in jar_places() if place.is_dir())
        return subprocess.run(
            [str(self.place / "env" / "bin" / "python"), *arguments],
            check=False,
            capture_output=True,
            text=True,
            cwd=self.place,
            env=environ | {"HAMLET_JARS": str(jars)},
        )

    def hamlet(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The command."""
        return self.python("-m", "pipelines.cli", *arguments)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_alone_runs_queries_and_brings_no_more_than_it_needs(environment: Environment) -> None:
    assert environment.install() == CORE | OF_RICH
    run = ("run", "q.hamlet", "--events", "events.csv")
    first = environment.hamlet(*run)
    assert first.returncode == 0, first.stderr
    assert "MIN(t.speed)      38" in first.stdout
    assert first.stderr.startswith(
        "No kernels are compiled yet, and the events are few: the reference engine"
    )
    program = (
        "import sys; from pipelines.cli import main; main(sys.argv[1:]); "
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    modules = environment.python("-c", program, *run, "--engine", "hamlet").stderr.split()
    assert {"pyarrow", "numba"} <= set(modules)
    assert not {"pyspark", "dagster", "great_expectations", "deltalake", "pandas"} & set(modules)
    second = environment.hamlet(*run)
    assert (second.stdout, second.stderr) == (first.stdout, "")
    for command in (
        ("pipeline", "q.hamlet", "--events", "events.csv"),
        ("query", "SHOW TABLES"),
        ("test", "."),
    ):
        refused = environment.hamlet(*command)
        assert refused.returncode == 1
        assert "[E502]" in refused.stderr
        assert "pip install 'hamlet-on-spark[pipeline]'" in refused.stderr


def test_with_its_extra_the_wheel_runs_the_pipeline(environment: Environment) -> None:
    assert environment.install("[pipeline]") > CORE
    done = environment.hamlet("pipeline", "q.hamlet", "--events", "events.csv", "--warehouse", "wh")
    assert done.returncode == 0, done.stderr
    assert "jams: 2 rows" in done.stdout
    shown = environment.hamlet("query", "SELECT count, min_t_speed FROM q__jams", "--warehouse", "wh")
    assert shown.returncode == 0, shown.stderr
    assert "7" in shown.stdout
