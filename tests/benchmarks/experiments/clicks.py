"""k. Funnels over the clicks of a million users beside ClickHouse, DuckDB and Polars: from a Parquet file to numbers, one thread."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.benchmarks import funnels, machine, plain_python
from tests.benchmarks.answers import WrongAnswer
from tests.benchmarks.funnels import Question
from tests.benchmarks.material import clicks
from tests.benchmarks.peers import CLICKHOUSE, DUCKDB, HAMLET, PEERS, by_hamlet, python_of
from tests.benchmarks.report import Claim, Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject
from tests.benchmarks.timing import Timing

TEN_AT_LEAST = 1.5
ONE_AT_MOST = 2.0
QUESTIONS = {"ONE": "one funnel", "TEN": "ten funnels", "DISJOINT": "passages"}
"""Name of a question in `funnels` -> what it is called."""
APART = (
    (
        "AGAIN",
        "clicks",
        "A step that comes twice: windowFunnel takes one View for both, SEQ(View, View, Cart) wants two.",
    ),
    (
        "SHORT",
        "clicks",
        (
            "Half an hour: windowFunnel's begins with the first step, and a user counts once; WITHIN 1800 s cuts the day "
            "into 48 windows, and a user counts in each. SLIDE makes windows that overlap."
        ),
    ),
    (
        "ONE",
        "seconds",
        "Times cut to whole seconds: events of one time never follow one another, for windowFunnel they do.",
    ),
    (
        "DISJOINT",
        "seconds",
        "The same for sequenceCount, which reads events of one time in any order.",
    ),
)
"""Question, stream and why answers differ."""


@dataclass(frozen=True)
class Run:
    """What a process took: to its first answer, start and imports included, and for the same again."""

    whole: float
    warm: float
    cpu: tuple[float, float]
    peak: int
    answer: list[int]


def measure(scale: Scale, subject: Subject) -> Finding:
    """A fresh process for each peer and round, in turns; all answers are one, in the small version that of plain Python."""
    if not scale.quick:
        python_of(CLICKHOUSE)  # before anything takes its time
    events, users = scale.of((10_000_000, 1_000_000), (3_000, 300))
    with tempfile.TemporaryDirectory(prefix="hamlet-bench-") as name:
        folder = Path(name)
        table = clicks(events, users)
        whole_seconds = (
            table["time"].cast(pa.timestamp("s", "UTC"), safe=False).cast(pa.timestamp("us", "UTC"))
        )
        for stream, times in (("clicks", table["time"]), ("seconds", whole_seconds)):
            pq.write_table(table.set_column(0, "time", times), folder / f"{stream}.parquet")
        if scale.quick:
            return _checked(folder, table, subject)
        del table, whole_seconds
        found = {question: in_turns(scale, question, folder, subject) for question in QUESTIONS}
        apart = [_apart(*one, folder, subject) for one in APART]
    timings, rows = [], []
    cpu = {}
    for question, of_peers in found.items():
        for peer, runs in of_peers.items():
            what = f"{QUESTIONS[question]}: {peer}"
            timings.append(Timing(what, events, tuple(run.whole for run in runs)))
            cpu[question, peer] = median(run.cpu[0] for run in runs)
            rows.append(
                {
                    "what": what,
                    "CPU s, process": cpu[question, peer],
                    "CPU s, again": median(run.cpu[1] for run in runs),
                    "s, again": median(run.warm for run in runs),
                    "peak MB": max(run.peak for run in runs) // 1_000_000,
                }
            )
    ten, one = (cpu[question, CLICKHOUSE] / cpu[question, HAMLET] for question in ("TEN", "ONE"))
    return Finding(
        "k",
        f"Funnels beside peers: {events:,} clicks of {users:,} users in a Parquet file",
        tuple(timings),
        (
            Claim("ten funnels: ClickHouse / HAMLET", ten, at_least=TEN_AT_LEAST),
            Claim("one funnel: HAMLET / ClickHouse", 1 / one, at_most=ONE_AT_MOST),
            *(
                Claim(f"{QUESTIONS[question]}: {peer} / HAMLET", taken / cpu[question, HAMLET])
                for (question, peer), taken in cpu.items()
                if peer != HAMLET and (question, peer) not in {("TEN", CLICKHOUSE), ("ONE", CLICKHOUSE)}
            ),
        ),
        (
            (
                "Seconds are those of a whole process, from its start to the answer, imports included; `again` is the same "
                "question once more in that process; the peak is that of the first answer. Ratios are of CPU seconds of the "
                "whole process: all have one thread, and what else the machine does is not counted. All answers are equal "
                "where none is shown."
            ),
        ),
        tables={"CPU time, and the same question again:": rows, "Where answers differ:": apart},
    )


def in_turns(scale: Scale, question: str, folder: Path, subject: Subject) -> dict[str, list[Run]]:
    """Rounds of each peer that answers the question; a first one is checked like the others, and not counted."""
    path, able = folder / "clicks.parquet", peers_for(getattr(funnels, question))
    found: dict[str, list[Run]] = {name: [] for name in able}
    expected: list[int] = []
    for turn in range(scale.rounds + 1):
        for name in able:
            run = in_a_process(name, question, path, subject.engine)
            expected = expected or run.answer
            require_same(f"{QUESTIONS[question]}: {name}", run.answer, expected)
            if turn:
                found[name].append(run)
        machine.say(f"k. {QUESTIONS[question]}, round {turn} of {scale.rounds}")
    return found


def peers_for(question: Question) -> list[str]:
    """Those that answer it."""
    return [name for name, peer in PEERS.items() if peer.passages or not question.disjoint]


def in_a_process(name: str, question: str, path: Path, engine: str) -> Run:
    """What `tests/benchmarks/peer_child.py` measured; Python may keep what it compiles of modules, as it does for users."""
    command = [python_of(name), "-m", "tests.benchmarks.peer_child", name, question, str(path), engine]
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begin = time.perf_counter()
    with (
        tempfile.TemporaryFile("w+") as complaints,
        subprocess.Popen(
            command, cwd=machine.ROOT, env=environ, stdout=subprocess.PIPE, stderr=complaints, text=True
        ) as process,
    ):
        lines = [process.stdout.readline()]
        whole = time.perf_counter() - begin
        lines += process.stdout.readlines()
        if process.wait():
            complaints.seek(0)
            raise RuntimeError(f"{' '.join(command)}: {complaints.read()[-2000:]}")
    first, second = map(json.loads, lines)
    require_same(f"{name}, again", second["answer"], first["answer"])
    return Run(whole, second["seconds"], (first["cpu"], second["cpu"]), first["peak"], first["answer"])


def require_same(what: str, found: list[int], expected: list[int]) -> None:
    """Raise `WrongAnswer` unless the answers are the same, and say something."""
    if found != expected:
        raise WrongAnswer(f"{what}: {found}, not {expected}")
    if not any(expected):
        raise WrongAnswer(f"{what}: nobody took a step, so the answer proves nothing")


def _apart(question: str, stream: str, why: str, folder: Path, subject: Subject) -> dict[str, Any]:
    """Both answers to a question that ClickHouse understands in another way; ours is DuckDB's where that can say it."""
    path = folder / f"{stream}.parquet"
    able = [HAMLET, CLICKHOUSE, *([] if getattr(funnels, question).disjoint else [DUCKDB])]
    found = {name: in_a_process(name, question, path, subject.engine).answer for name in able}
    require_same(f"{question} of {stream}", found[HAMLET], found.get(DUCKDB, found[HAMLET]))
    if found[HAMLET] == found[CLICKHOUSE]:
        raise WrongAnswer(f"{question} of {stream}: both answer {found[HAMLET]}, and were said to differ")
    return {HAMLET: found[HAMLET], CLICKHOUSE: found[CLICKHOUSE], "why": why}


def _checked(folder: Path, table: pa.Table, subject: Subject) -> Finding:
    """The small version: every peer that this Python has, in this process."""
    timings = []
    for key in (*QUESTIONS, "AGAIN", "SHORT"):
        question = getattr(funnels, key)
        expected = plain_python.funnels(question, table)
        for name in peers_for(question):
            if not PEERS[name].is_here or (key not in QUESTIONS and name not in (HAMLET, DUCKDB)):
                continue
            answer, path = PEERS[name].answer, folder / "clicks.parquet"
            begin = time.perf_counter()
            found = by_hamlet(question, path, subject.engine) if name == HAMLET else answer(question, path)
            timings.append(Timing(f"{key}: {name}", len(table), (time.perf_counter() - begin,)))
            require_same(f"{key}: {name}", found, expected)
    return Finding("k", "Funnels beside peers, small", tuple(timings))
