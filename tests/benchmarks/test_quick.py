"""Each benchmark in its small version: the answers that it checks, its report, and how it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hamlet_core.engines.registry import ENGINES
from tests.benchmarks.__main__ import FIGURES, KEYS, main
from tests.benchmarks.material import stream, w50
from tests.benchmarks.report import Claim, Finding, as_json, as_markdown
from tests.benchmarks.subject import Subject
from tests.benchmarks.timing import Timing
from tests.conftest import ROOT

WITH_A_JVM = "pq"
ENGINE = "hamlet" if "hamlet" in ENGINES else "greta"


@pytest.mark.parametrize("key", [key for key in KEYS if key not in WITH_A_JVM])
def test_answers(key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--quick", "--only", key, "--engine", ENGINE, "--out", str(tmp_path)])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    assert f"## {key}. " in shown.out
    (written,) = json.loads((tmp_path / "benchmarks.json").read_text(encoding="utf-8"))["benchmarks"]
    assert written["key"] == key
    assert written["timings"] or written["tables"] or written["claims"]
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in written["pictures"])
    assert (tmp_path / "benchmarks.md").read_text(encoding="utf-8").strip() == shown.out.strip()


@pytest.mark.parametrize("key", [key for key in KEYS if key not in (*FIGURES, *"pqstu")])
def test_a_wrong_answer_fails(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Subject.run

    def lossy(subject: Subject, text: str, table: pa.Table, arithmetic: str = "scaled", **force: str):
        call = right(Subject("greta"), text, table, arithmetic)
        return lambda: call().slice(1)

    monkeypatch.setattr(Subject, "run", lossy)
    monkeypatch.setattr(Subject, "fold", lossy)
    assert main(["--quick", "--only", key, "--engine", ENGINE, "--out", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert "ANSWERS DIFFER" in shown.err
    assert "**FAILED**" in shown.out


@pytest.mark.parametrize("wrong", ["dynamic", "always", "never"])
def test_a_wrong_answer_of_one_policy_fails(
    wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Subject.run

    def lossy(subject: Subject, text: str, table: pa.Table, arithmetic: str = "scaled", policy: str = ""):
        call = right(Subject("greta"), text, table, arithmetic)
        return lambda: call().slice(policy == wrong)

    monkeypatch.setattr(Subject, "run", lossy)
    monkeypatch.setattr(Subject, "fold", lossy)
    assert main(["--quick", "--only", "h", "--engine", ENGINE, "--out", str(tmp_path)]) == 1
    assert "ANSWERS DIFFER" in capsys.readouterr().err


def test_a_missed_bound_is_shown_and_fails() -> None:
    timing = Timing("kernel", 2_000_000, (0.02, 0.01, 0.03))
    finding = Finding(
        "x", "Title", (timing,), (Claim("fast enough", 0.2, at_least=0.3), Claim("small", 1.0, at_most=2))
    )
    assert not finding.met
    table = as_markdown({"cpu": "fast"}, [finding])
    assert "| kernel | 2,000,000 | 0.02     | 100 " in table
    assert "| fast enough | 0.2 x | >= 0.3 | **NO** |" in table
    assert "| small       | 1 x   | <= 2   | yes    |" in table
    assert json.loads(as_json({}, [finding]))["benchmarks"][0]["claims"][0]["met"] is False


def test_numbers_of_numpy_are_written_as_others() -> None:
    finding = Finding("x", "Title", claims=(Claim("small", np.float64(1.0), at_most=2),))
    (told,) = json.loads(as_json({}, [finding]))["benchmarks"]
    assert told["claims"] == [{"name": "small", "value": 1.0, "bound": "<= 2", "met": True}]


def test_a_process_of_its_own_measures_memory(tmp_path: Path) -> None:
    table = stream(2_000, types=3, burst_length=12.0)
    with pa.ipc.new_file(tmp_path / "events.arrow", table.schema) as sink:
        sink.write_table(table)
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.child", str(tmp_path / "events.arrow"), ENGINE, "1"],
        input=w50(queries=2, types=1, within=200),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["events"] == 2_000
    assert found["peak"] > found["input"] > 0


def test_an_unknown_letter_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "a,z"])
    assert "no benchmark z" in capsys.readouterr().err


def test_an_engine_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--engine", "nonsense"]) == 2
    assert "no engine nonsense" in capsys.readouterr().err
