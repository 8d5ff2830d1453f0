"""A stranger's first hour, in an empty environment: the built wheel alone, with its extra, the demo, own data, own mistakes."""

from __future__ import annotations

import json
import os
import shlex
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

    def python(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
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
            env=environ | {"HAMLET_JARS": str(jars)} | more,
        )

    def hamlet(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The command."""
        return self.python("-m", "pipelines.cli", *arguments)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("wheel"))


def remarks(done: subprocess.CompletedProcess[str]) -> str:
    """What a command said beside its answer, without what it is at, which it says where it takes seconds."""
    return "".join(line for line in done.stderr.splitlines(keepends=True) if not line.startswith("["))


def test_the_wheel_alone_runs_queries_and_brings_no_more_than_it_needs(environment: Environment) -> None:
    assert environment.install() == CORE | OF_RICH
    run = ("run", "q.hamlet", "--events", "events.csv")
    first = environment.hamlet(*run)
    assert first.returncode == 0, first.stderr
    assert "MIN(t.speed)      38" in first.stdout
    assert remarks(first).startswith(
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
    assert (second.stdout, remarks(second)) == (first.stdout, "")
    for command in (
        ("pipeline", "q.hamlet", "--events", "events.csv"),
        ("query", "SHOW TABLES"),
        ("test", "."),
    ):
        refused = environment.hamlet(*command)
        assert refused.returncode == 1
        assert "[E502]" in refused.stderr
        assert "pip install 'hamlet-on-spark[pipeline]'" in refused.stderr


@pytest.fixture(scope="module")
def whole(environment: Environment) -> Environment:
    """The environment with the extra of the pipeline, too."""
    assert environment.install("[pipeline]") > CORE
    return environment


def answer(done: subprocess.CompletedProcess[str]) -> str:
    """What a command said that went well."""
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(environment: Environment, sql: str, warehouse: str) -> list[dict[str, object]]:
    """What a query over the tables gives."""
    found: list[dict[str, object]] = json.loads(
        answer(environment.hamlet("query", sql, "--warehouse", warehouse, "--format", "json"))
    )
    return found


def test_with_its_extra_the_wheel_runs_the_pipeline(whole: Environment) -> None:
    assert "jams: 2 rows" in answer(
        whole.hamlet("pipeline", "q.hamlet", "--events", "events.csv", "--warehouse", "wh")
    )
    assert rows(whole, "SELECT count, min_t_speed FROM q__jams", "wh") == [{"count": 7, "min_t_speed": 38}]


def test_the_demo_says_what_it_found_and_leaves_tables(whole: Environment) -> None:
    shown = answer(whole.hamlet("demo", "--warehouse", "demo"))
    assert "199,960 events; 40 broken rows" in shown
    (counted,) = rows(whole, "SELECT count(*) AS events FROM events", "demo")
    assert counted == {"events": 199_960}
    assert rows(whole, "SELECT DISTINCT query FROM trend_aggregates", "demo")


DIRTY = """\
when; kind; user ;id;amount;note
05/01/2026 08:00; Buy;ann;1;10;
05/01/2026 08:01;buy ;ann;2;20;7
05/01/2026 08:01;buy ;ann;2;20;7
05/01/2026 08:02;BUY;ann;3;n/a;8
31/02/2026 08:03;buy;ann;4;40;9
05/01/2026 08:04;buy;ann;5;50;x
05/01/2026 08:05;;ann;6;60;1
05/01/2026 08:06;buy;ann;7;70;2;surplus
05/01/2026 08:07;buy;ann
05/01/2026 08:08;buy;bob;8;80;3
""" + "".join(f"06/01/2026 09:{row:02};look;cat;{row + 10};{row};{row}\n" for row in range(60))
OPTIONS = (
    *("--time", "when", "--type", "kind", "--time-format", "%d/%m/%Y %H:%M", "--zone", "Europe/Berlin"),
    *("--type-trim", "--type-case", "lower", "--unique", "id", "--column", "amount=double"),
)
SPENT = "spent: RETURN COUNT(*), SUM(b.amount) PATTERN buy b+ WHERE [user] WITHIN 1 day"


def test_own_dirty_data_give_the_rows_of_what_is_right_in_them(whole: Environment) -> None:
    (whole.place / "dirty.csv").write_text(DIRTY.replace(" user ", "user").replace("; kind", ";kind"))
    (whole.place / "spent.hamlet").write_text(SPENT)
    command = ("spent.hamlet", "--events", "dirty.csv", *OPTIONS)
    refused = whole.hamlet("run", *command)
    assert refused.returncode == 1
    assert "[E452] 6 bad rows of 70" in refused.stderr
    skipped = whole.hamlet("run", *command, "--on-bad-rows", "skip", "--format", "json")
    found = {row["aggregate"]: row["value"] for row in json.loads(answer(skipped))}
    # Of ann 10, 20 and 50: seven trends, each event in four; of bob 80 alone.
    assert found == {"COUNT(*)": 8.0, "SUM(b.amount)": 4 * (10 + 20 + 50) + 80.0}
    assert "Left empty: 1 of note" in skipped.stderr
    answer(whole.hamlet("pipeline", *command, "--warehouse", "dirty"))
    published = rows(whole, "SELECT count, sum_b_amount FROM spent__spent", "dirty")
    assert published == [{"count": 8, "sum_b_amount": found["SUM(b.amount)"]}]
    refusals = rows(whole, "SELECT row_number, code FROM events_quarantine ORDER BY ALL", "dirty")
    assert [(row["row_number"], row["code"]) for row in refusals] == [
        (3, "E422"), (4, "E411"), (5, "E412"), (7, "E421"), (8, "E402"), (9, "E403"),
    ]  # fmt: skip


def test_a_folder_with_a_schedule_runs_as_its_page_says(whole: Environment) -> None:
    shown = answer(whole.hamlet("init", "rides"))
    for line in shown.splitlines()[1:]:
        command = shlex.split(line)[1:]
        if command[0] == "backfill":
            assert "rides.csv" in answer(whole.hamlet(*command, "--dry-run"))
        if command[0] != "ui":
            assert answer(whole.hamlet(*command))
    program = (
        "from pipelines.definitions import defs; "
        "print(*(one.cron_schedule for one in defs.get_repository_def().schedule_defs))"
    )
    folder = {"HAMLET_WORKLOADS": str(whole.place / "rides")}
    assert "15 2 * * *" in answer(whole.python("-c", program, **folder))


MISTAKES = (
    ("q.hamlet", "Travel t+", "Travel t+ WHER x", ("run", "q.hamlet", "--events", "events.csv"), "E0", 2),
    ("q.hamlet", "t.speed", "t.sped", ("run", "q.hamlet", "--events", "events.csv"), "speed", 1),
    ("q.hamlet", "Travel", "Travell", ("run", "q.hamlet", "--events", "events.csv"), "Travel", 0),
    ("q.hamlet", "MIN(t.speed)", "MIN(t.type)", ("run", "q.hamlet", "--events", "events.csv"), "E135", 2),
    ("events.csv", "speed", "pace", ("pipeline", "q.hamlet", "--events", "events.csv"), "speed", 1),
    ("events.csv", "time,", "when,", ("pipeline", "q.hamlet", "--events", "events.csv"), "--time", 2),
    ("", "", "", ("pipeline", "q.hamlet", "--events", "evnts.csv"), "E450", 2),
    ("", "", "", ("run", "q.hamlet", "--events", "events.csv", "--zone", "Mars"), "Europe/Berlin", 2),
    ("rides/pipeline.yaml", "events:", "evnts:", ("test", "rides"), "evnts", 2),
    ("rides/jams.yaml", "daily", "weekly", ("test", "rides"), "daily", 2),
    ("rides/jams.yaml", "15 2 * * *", "every night", ("backfill", "rides", "jams", "--dry-run"), "every night", 2),
    ("rides/jams.cases.yaml", "COUNT(*): 3", "COUNT(*): 4", ("test", "rides"), "COUNT(*) is 3, not 4", 1),
    ("", "", "", ("query", "SELECT * FROM trend_agregates", "--warehouse", "wh"), "trend_aggregates", 2),
    ("", "", "", ("pipelin", "q.hamlet"), "pipeline", 2),
)  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "command", "told", "code"), MISTAKES)
def test_a_mistake_in_each_place_is_told_in_a_few_lines(
    whole: Environment, file: str, old: str, new: str, command: tuple[str, ...], told: str, code: int
) -> None:
    place = whole.place / file
    text = place.read_text() if file else ""
    assert old in text
    try:
        if file:
            place.write_text(text.replace(old, new))
        done = whole.hamlet(*command)
    finally:
        if file:
            place.write_text(text)
    assert told in done.stderr + done.stdout
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 12
