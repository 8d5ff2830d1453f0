"""Cases beside a workload: right ones are green, and each way to be wrong is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.cases import cases_of, judge
from pipelines.cli import main
from pipelines.folder import WorkloadFolder
from pipelines.settings import SettingsError

STREAM = "events: inbox\ntime: at\ntype: kind\ncolumns: {speed: integer}\n"
JAMS = """
jams: RETURN car, COUNT(*), AVG(t.speed), MIN(t.note) PATTERN Travel t+ WHERE [car] AND t.speed > NEXT(t).speed
      GROUP-BY car WITHIN 1 hour
all:  RETURN COUNT(*) PATTERN Travel t+ WITHIN 1 hour
"""
EVENTS = """
  events: |
    at,kind,car,speed,note
    2026-01-05T08:00,Travel,7,40,
    2026-01-05T08:01,Travel,7,30,
"""
RIGHT = f"""
- name: two that slow down
{EVENTS}
  rows:
    - query: jams
      window_start: 2026-01-05T08:00
      group: {{car: 7}}
      values: {{COUNT(*): 3, AVG(t.speed): 35, MIN(t.note): null}}
    - {{query: all, window_start: 2026-01-05T08:00:00Z, values: {{COUNT(*): 3}}}}
"""


def folder(place: Path, cases: str) -> Path:
    (place / "pipeline.yaml").write_text(STREAM)
    (place / "jams.hamlet").write_text(JAMS)
    (place / "jams.cases.yaml").write_text(cases)
    return place


def problems(place: Path, cases: str) -> tuple[str, ...]:
    (verdict,) = judge(WorkloadFolder.read(folder(place, cases)), "jams")
    return verdict.problems


def test_what_is_right_is_green(tmp_path: Path) -> None:
    assert problems(tmp_path, RIGHT) == ()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "COUNT(*): 3, A",
            "COUNT(*): 4, A",
            'jams window 2026-01-05 08:00:00 group {"car": 7}: COUNT(*) is 3, not 4',
        ),
        ("AVG(t.speed): 35", "AVG(t.speed): 35.1", "AVG(t.speed) is 35, not 35.1"),
        ("MIN(t.note): null", "MIN(t.note): 0", "MIN(t.note) is NULL, not 0"),
        ("AVG(t.speed): 35", "MAX(t.speed): 40", "there is no MAX(t.speed), only COUNT(*), "),
        ("{car: 7}", "{car: 8}", 'group {"car": 8}: there is no such row'),
        (
            "{car: 7}",
            "{car: 8}",
            'jams window 2026-01-05 08:00:00+00:00 group {"car": 7}: not expected, COUNT(*) 3',
        ),
        ("- query: jams\n      window", "- window", "there are several queries, name one of jams, all"),
        ("Travel,7,30", "Travel,7,slow", "row 2 of the events is none: column speed: 'slow' is not"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert old in RIGHT
    found = problems(tmp_path, RIGHT.replace(old, new, 1))
    assert any(problem in one for one in found), found


def test_other_rows_may_be_passed_over(tmp_path: Path) -> None:
    some = RIGHT.replace("    - {query: all", "  more: true\n#", 1)
    assert problems(tmp_path, some) == ()
    assert any("all window" in one for one in problems(tmp_path, some.replace("more: true", "more: false")))


@pytest.mark.parametrize(
    ("cases", "says"),
    [
        ("- name: x\n", "events: Field required"),
        ("- {name: x, events: a, rows: [], other: 1}\n", "other: Extra inputs are not permitted"),
        ("name: x\n", "valid tuple"),
        ("- {name: x", "is no YAML"),
        ("- {name: x, events: a, rows: [{window_start: soon, values: {}}]}", "window_start"),
    ],
)
def test_what_is_no_case_is_refused_by_file_and_place(tmp_path: Path, cases: str, says: str) -> None:
    read = WorkloadFolder.read(folder(tmp_path, cases))
    with pytest.raises(SettingsError, match="E533") as refused:
        cases_of(read.named("jams"))
    assert says in str(refused.value)
    assert "jams.cases.yaml" in str(refused.value)


def test_the_command_tells_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(folder(tmp_path, RIGHT + RIGHT.replace("COUNT(*): 3}}", "COUNT(*): 5}}")))
    assert main(["test", place]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "  green  jams: two that slow down"
    assert shown[1] == "  RED    jams: two that slow down"
    assert shown[2].strip() == "all window 2026-01-05 08:00:00+00:00 group {}: COUNT(*) is 3, not 5"
    assert shown[3] == "1 of 2 cases hold"
    folder(tmp_path, RIGHT)
    assert main(["test", place, "jams"]) == 0
    (tmp_path / "jams.cases.yaml").unlink()
    assert main(["test", place]) == 0
    assert "has no cases" in capsys.readouterr().err
    assert main(["test", place, "nothing"]) == 2
