"""Who answers questions about funnels, from a Parquet file to numbers, on one thread.

Peers live in an environment of their own, `bench/peers`: they are no dependency of the project, nor of its tests.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.benchmarks import funnels
from tests.benchmarks.funnels import Question
from tests.benchmarks.machine import ROOT

PYTHON = ROOT / "bench" / "peers" / "bin" / "python"

Answering = Callable[[Question, Path], list[int]]


class NoPeers(RuntimeError):
    """There is no environment with the peers."""


@dataclass(frozen=True)
class Peer:
    """A way to an answer."""

    module: str
    """What it imports."""
    answer: Answering
    passages: bool = False
    """Whether it counts passages without overlap, too."""

    @property
    def is_here(self) -> bool:
        """Whether this Python has it."""
        return find_spec(self.module) is not None


def by_hamlet(question: Question, path: Path, engine: str = "hamlet") -> list[int]:
    """`run` on the path of the file."""
    from tests.benchmarks.subject import Subject

    return funnels.of_rows(Subject(engine).run(funnels.workload(question), path)())


def by_clickhouse(question: Question, path: Path) -> list[int]:
    import chdb

    return [int(one) for one in str(chdb.query(funnels.for_clickhouse(question, path), "CSV")).split(",")]


def _by_duckdb(text: Callable[[Question, Path], str]) -> Answering:
    def answer(question: Question, path: Path) -> list[int]:
        import duckdb

        with duckdb.connect(config={"threads": 1, "preserve_insertion_order": False}) as connection:
            (row,) = connection.execute(text(question, path)).fetchall()
        return list(row)

    return answer


HAMLET, CLICKHOUSE, DUCKDB = "HAMLET", "ClickHouse", "DuckDB, joins"
PEERS = {
    HAMLET: Peer("hamlet_core", by_hamlet, passages=True),
    CLICKHOUSE: Peer("chdb", by_clickhouse, passages=True),
    DUCKDB: Peer("duckdb", _by_duckdb(funnels.for_duckdb)),
    "DuckDB, lists": Peer("duckdb", _by_duckdb(funnels.for_duckdb_by_lists)),
    "Polars, joins": Peer("polars", funnels.by_polars),
}


def python_of(name: str) -> str:
    """The Python that has a peer. Raises NoPeers."""
    if name == HAMLET:
        return sys.executable
    if not PYTHON.exists():
        raise NoPeers(
            f"ClickHouse, DuckDB and Polars are compared in an environment of their own, and there is no {PYTHON}: "
            "`make peers` makes it (1.1 GB)"
        )
    return str(PYTHON)
