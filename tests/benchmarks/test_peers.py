"""Funnels beside peers: what they are, in every language that this Python has, and what is said where peers are missing."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.benchmarks import funnels, peers, plain_python
from tests.benchmarks.__main__ import main
from tests.benchmarks.answers import WrongAnswer
from tests.benchmarks.experiments.clicks import in_a_process, require_same
from tests.benchmarks.funnels import Question
from tests.benchmarks.material import clicks
from tests.benchmarks.peers import DUCKDB, HAMLET, PEERS, NoPeers, python_of
from tests.conftest import ROOT

VISITS = {
    1: "View Cart Purchase View Cart Purchase",
    2: "Cart View Purchase View Cart",
    3: "Purchase Cart View",
    4: "View View Help Cart",
}
HALF_HOURS = Question((("View", "Cart"), ("View", "Cart", "Purchase")), within=1_800)


def table(apart: timedelta = timedelta(minutes=1)) -> pa.Table:
    """An event every so often, visit after visit."""
    begin = datetime.fromtimestamp(funnels.DAY, UTC)
    rows = [(user, name) for user, names in VISITS.items() for name in names.split()]
    times = [begin + place * apart for place in range(len(rows))]
    return pa.table(
        {
            "time": pa.array(times, pa.timestamp("us", "UTC")),
            "type": [name for _, name in rows],
            "user": [user for user, _ in rows],
        }
    )


def file(folder: Path, events: pa.Table) -> Path:
    pq.write_table(events, folder / "clicks.parquet")
    return folder / "clicks.parquet"


@pytest.mark.parametrize(
    ("question", "expected"),
    [(funnels.ONE, [4, 3, 1]), (funnels.DISJOINT, [2]), (funnels.AGAIN, [4, 3, 3])],
)
def test_answers_by_hand(question: Question, expected: list[int], tmp_path: Path) -> None:
    assert plain_python.funnels(question, table()) == expected
    path = file(tmp_path, table())
    for name, peer in PEERS.items():
        if peer.is_here and (peer.passages or not question.disjoint):
            assert peer.answer(question, path) == expected, name


def test_windows_are_added_up(tmp_path: Path) -> None:
    events = table(timedelta(minutes=10))
    expected = plain_python.funnels(HALF_HOURS, events)
    assert expected == [7, 4, 7, 4, 2]
    path = file(tmp_path, events)
    assert [PEERS[name].answer(HALF_HOURS, path) for name in (HAMLET, DUCKDB)] == [expected, expected]


def test_clicks_are_a_day_without_ties() -> None:
    events = clicks(20_000, 100)
    times = events["time"].cast(pa.int64()).to_numpy()
    assert (times[1:] > times[:-1]).all()
    assert not (times % 1_000).any()
    assert {int(times[0]) // 86_400_000_000, int(times[-1]) // 86_400_000_000} == {funnels.DAY // 86_400}
    assert events.equals(clicks(20_000, 100))


def test_clickhouse_is_asked_once_for_all_funnels() -> None:
    text = funnels.for_clickhouse(funnels.TEN, Path("clicks.parquet"))
    assert text.count("FROM file(") == 1
    assert text.count("windowFunnel(86400000)") == 10
    assert "max_threads = 1" in text
    assert "sequenceCount('(?1).*(?2).*(?3)')" in funnels.for_clickhouse(funnels.DISJOINT, Path("x"))


def test_without_their_environment_nothing_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "PYTHON", tmp_path / "bin" / "python")
    with pytest.raises(NoPeers, match="make peers"):
        python_of(DUCKDB)
    assert python_of(HAMLET) == sys.executable
    assert main(["--only", "k", "--out", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert "k. ClickHouse, DuckDB and Polars" in shown.err
    assert "`make peers` makes it" in shown.out


@pytest.mark.parametrize("name", [HAMLET, DUCKDB])
def test_a_process_of_its_own_answers_twice(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "PYTHON", Path(sys.executable))
    found = in_a_process(name, "ONE", file(tmp_path, table()), "greta")
    assert found.answer == [4, 3, 1]
    assert found.whole > found.warm > 0
    assert found.peak > 10_000_000


def test_a_process_that_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no such"):
        in_a_process(HAMLET, "ONE", tmp_path / "no such.parquet", "greta")


def test_answers_that_differ_or_say_nothing() -> None:
    require_same("x", [1, 0], [1, 0])
    with pytest.raises(WrongAnswer, match=r"x: \[1, 1\], not \[1, 0\]"):
        require_same("x", [1, 1], [1, 0])
    with pytest.raises(WrongAnswer, match="proves nothing"):
        require_same("x", [0, 0], [0, 0])


def test_peers_need_nothing_of_this_project() -> None:
    text = "import sys, tests.benchmarks.peer_child; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {"hamlet_core", "numba", "pyarrow", "numpy"}.isdisjoint(done.stdout.split())
