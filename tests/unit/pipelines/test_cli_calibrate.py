"""`hamlet calibrate`: what it shows, where it writes, and that later runs read it."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from hamlet_core.bench import calibrate as calibrating
from hamlet_core.bench.calibrate import Calibration
from hamlet_core.sharing.calibration import VARIABLE, constants_in_use, read_constants
from hamlet_core.sharing.costs import Constants
from pipelines.cli import main
from resources import doctor

OWN = Constants(*(float(number) + 0.25 for number in range(len(fields(Constants)))))
MEASURED = Calibration(OWN, replace(OWN, mixed=3.0), replace(OWN, mixed=900.0))


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    """No measuring, a quiet machine, and a configuration folder of its own."""

    def measure(progress):
        for done in range(1, 11):
            progress(done, 10)
        return MEASURED

    monkeypatch.setattr(calibrating, "calibrate", measure)
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def test_constants_are_shown_beside_those_shipped_and_written(tmp_path, capsys):
    assert main(["calibrate"]) == 0
    shown = capsys.readouterr()
    rows = shown.out.splitlines()
    assert rows[0].split() == ["ns", "from", "to", "shipped"]
    assert [row.split()[0] for row in rows[1:]] == [one.name for one in fields(Constants)]
    last = fields(Constants)[-1]
    assert rows[-1].split()[:5] == ["mixed", "7.25", "3", "900", f"{last.default:.3g}"]
    assert rows[-1].endswith(last.metadata["means"])
    path = tmp_path / "config" / "hamlet" / "cost_model.json"
    assert shown.err.splitlines()[-1] == f"Written to {path}: later runs read it."
    assert constants_in_use() == OWN


def test_a_dry_run_writes_nothing(tmp_path, capsys):
    assert main(["calibrate", "--dry-run"]) == 0
    assert "mixed" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    assert constants_in_use() == Constants()


def test_another_file_is_read_when_the_variable_names_it(tmp_path, capsys, monkeypatch):
    path = tmp_path / "own.json"
    assert main(["calibrate", "--out", str(path)]) == 0
    assert capsys.readouterr().err.endswith(f"Written to {path}: {VARIABLE}={path} makes runs read it.\n")
    assert constants_in_use() == Constants()
    assert read_constants(path) == OWN
    monkeypatch.setenv(VARIABLE, str(path))
    assert constants_in_use() == OWN
    assert main(["calibrate"]) == 0
    assert capsys.readouterr().err.endswith(f"Written to {path}: later runs read it.\n")


def test_where_no_file_is_wanted_one_must_be_named(capsys, monkeypatch):
    monkeypatch.setenv(VARIABLE, "")
    assert main(["calibrate"]) == 2
    assert "give --out FILE" in capsys.readouterr().err
    assert main(["calibrate", "--dry-run"]) == 0


def test_progress_is_told_four_times(capsys):
    assert main(["calibrate", "--dry-run"]) == 0
    assert [line for line in capsys.readouterr().err.splitlines() if "%" in line] == [
        f"{percent} % measured" for percent in (30, 50, 80, 100)
    ]


def test_a_busy_machine_is_warned_of(capsys, monkeypatch):
    monkeypatch.setattr("os.getloadavg", lambda: (99.0, 0.0, 0.0))
    assert main(["calibrate", "--dry-run"]) == 0
    assert "Warning: other programs keep this machine busy (load 99.0" in capsys.readouterr().err


def test_a_place_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("", "utf-8")
    assert main(["calibrate", "--out", str(tmp_path / "file" / "cost.json")]) == 1
    assert "Error: " in capsys.readouterr().err


def test_a_damaged_file_stops_a_run_and_the_doctor_has_the_cure(tmp_path, capsys, monkeypatch):
    path = tmp_path / "damaged.json"
    path.write_text('{"constants": {"total": 1}}', "utf-8")
    monkeypatch.setenv(VARIABLE, str(path))
    golden = Path(__file__).parents[2] / "golden" / "cli"
    command = ["run", str(golden / "counts.hamlet"), "--events", str(golden / "ticks.csv")]
    assert main(command) == 2
    assert f"[E219] cost constants in {path}: no level, no older" in capsys.readouterr().err
    finding = doctor.cost_model()
    assert (finding.ok, finding.code, finding.cure) == (False, "E219", "run `hamlet calibrate`")


def test_the_doctor_says_whose_constants_are_used(tmp_path):
    assert doctor.cost_model().line.startswith("Cost model: constants that are shipped;")
    assert main(["calibrate"]) == 0
    path = tmp_path / "config" / "hamlet" / "cost_model.json"
    assert doctor.cost_model().line == f"Cost model: constants of {path}"
