"""The benchmark on Spark in its small version: answers are checked, times mean nothing."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks.__main__ import main


@pytest.mark.slow
def test_the_execute_step_beside_plain_spark(tmp_path, capsys):
    assert main(["--quick", "--only", "p", "--out", str(tmp_path)]) == 0, capsys.readouterr().err
    (found,) = json.loads((tmp_path / "benchmarks.json").read_text())["benchmarks"]
    assert len(found["timings"]) == 6
    tasks = found["tables"]["Tasks that folded events:"]
    assert all(row["tasks"] > 1 and not row["in the driver"] for row in tasks)
