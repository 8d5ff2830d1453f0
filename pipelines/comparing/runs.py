"""Members in turns: each round runs every member once, in a process of its own that can be stopped and measured."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import IO

import pyarrow as pa

from hamlet_core import EventSchema, QueryMeaningError, Workload
from hamlet_core.errors import HamletError
from hamlet_core.execution import check_engine
from pipelines.checks.differences import Difference
from pipelines.comparing import child
from pipelines.comparing.answers import Judge
from pipelines.comparing.members import Member


class ComparisonError(HamletError):
    """A comparison that does not hold: E550 members answer differently, E551 none of them answers."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared, and how."""

    workload: Workload
    events: pa.Table
    schema: EventSchema
    arithmetic: str = "scaled"
    limit: float = 60.0
    """Seconds that a run may take, without what is read, imported and compiled before."""
    rounds: int = 3
    threads: int = 1
    """Of the compiled engine; all others have one."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: seconds, seconds of them to plan who shares what, and the most bytes of memory that the process had."""

    seconds: float
    planning_seconds: float
    peak_bytes: int


@dataclass(slots=True)
class Outcome:
    """Mutable: what a member came to, so far."""

    member: Member
    events: int
    runs: list[Measured] = field(default_factory=list)
    reason: str = ""
    """Why it has no answer."""
    differences: tuple[Difference, ...] = ()
    """In what it differs from the first member that answered."""

    @property
    def seconds(self) -> float:
        """Of a run: the median."""
        return median(one.seconds for one in self.runs)

    @property
    def planning_seconds(self) -> float:
        """Of a run: the median."""
        return median(one.planning_seconds for one in self.runs)

    @property
    def peak_bytes(self) -> int:
        """The most of any run."""
        return max(one.peak_bytes for one in self.runs)

    @property
    def events_per_second(self) -> float:
        """Events of the table, whether queries read them or not."""
        return self.events / self.seconds


def compare(
    comparison: Comparison, members: Sequence[Member], told: Callable[[str], None] = lambda _: None
) -> list[Outcome]:
    """Run the members in turns, each round in another order, and check every answer against that of the first.

    `told` hears what is run. A member that is refused, fails or goes over the limit has no further turn.
    """
    outcomes = [Outcome(member, comparison.events.num_rows) for member in members]
    judge = Judge(comparison.workload, comparison.events, comparison.schema, comparison.arithmetic)
    answer: pa.Table | None = None
    with tempfile.TemporaryDirectory(prefix="hamlet-compare-") as name:
        folder = Path(name)
        _write_events(comparison.events, folder)
        for outcome, turn in _turns(outcomes, comparison.rounds):
            told(f"running {outcome.member.name}, round {turn + 1} of {comparison.rounds}")
            found = _run(comparison, outcome, folder)
            if found is None:
                continue
            answer = found if answer is None else answer
            outcome.differences = outcome.differences or judge.differing(found, answer)
    return outcomes


def check_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Raise ComparisonError: E550 where an answer differs from the first, E551 where there is none."""
    answered = [one for one in outcomes if one.runs]
    if not answered:
        raise ComparisonError(
            "no engine has answered the workload",
            code="E551",
            hint="the table says why; --engines chooses others, --limit gives them more time",
        )
    wrong = [one for one in answered if one.differences]
    if wrong:
        first = answered[0].member.name
        raise ComparisonError(
            "\n".join(
                [f"answers differ from those of {first}", *(line for one in wrong for line in _told(one))]
            ),
            code="E550",
            hint="one of them is a bug of ours: please report workload and events",
        )


SHOWN = 3
"""Differing rows of a member that are shown."""


def _told(outcome: Outcome) -> Iterator[str]:
    for one in outcome.differences[:SHOWN]:
        place = f"query {one.query}, window {one.window_start}, group {one.group_key}, {one.aggregate}"
        what = (
            f"{one.column} is {one.stored}, not {one.expected}" if one.column else f"the row is {one.problem}"
        )
        yield f"  {outcome.member.name}: {place}: {what}"
    if (more := len(outcome.differences) - SHOWN) > 0:
        yield f"  {outcome.member.name}: and {more:,} more"


def _turns(outcomes: Sequence[Outcome], rounds: int) -> Iterator[tuple[Outcome, int]]:
    """Each member once a round, from another one on each time, as long as it answers."""
    for turn in range(rounds):
        start = turn % len(outcomes)
        for outcome in (*outcomes[start:], *outcomes[:start]):
            if not outcome.reason:
                yield outcome, turn


def _write_events(events: pa.Table, folder: Path) -> None:
    with (
        pa.OSFile(str(folder / child.EVENTS), "wb") as target,
        pa.ipc.new_file(target, events.schema) as writer,
    ):
        writer.write_table(events)


def _run(comparison: Comparison, outcome: Outcome, folder: Path) -> pa.Table | None:
    """One run; its results, or None and why there are none."""
    member = outcome.member
    try:
        check_engine(comparison.workload, member.engine)
    except QueryMeaningError as refusal:
        outcome.reason = f"[{refusal.code}] {refusal.message}"
        return None
    (folder / child.REQUEST).write_text(json.dumps(_request(comparison, member)), "utf-8")
    answer = folder / child.ANSWER
    answer.unlink(missing_ok=True)
    command = [sys.executable, "-m", child.__name__, str(folder)]
    with (folder / "stderr").open("w+", encoding="utf-8") as stderr:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, bufsize=0) as process:
            try:
                if _in_time(process.stdout, comparison.limit):
                    process.wait()
                else:
                    outcome.reason = f"over the limit of {comparison.limit:g} s"
            finally:
                process.kill()
        if not outcome.reason and not answer.exists():
            stderr.seek(0)
            outcome.reason = _why(process.returncode, stderr.read())
    if outcome.reason:
        outcome.runs.clear()
        return None
    said = json.loads(answer.read_text("utf-8"))
    if "refused" in said:
        outcome.reason = said["refused"]
        return None
    outcome.runs.append(Measured(**said))
    with pa.OSFile(str(folder / child.RESULTS)) as source:
        return pa.ipc.open_file(source).read_all()


def _in_time(said: IO[bytes] | None, limit: float) -> bool:
    """Wait until the child says that its run begins, then until it says that it has ended, or ends; whether it did."""
    if said is None:
        return False
    said.readline()
    return bool(select.select([said], [], [], limit)[0])


def _request(comparison: Comparison, member: Member) -> dict[str, object]:
    options = {
        **asdict(member),
        "arithmetic": comparison.arithmetic,
        "threads": comparison.threads,
    }
    return {"text": comparison.workload.text, "schema": asdict(comparison.schema), "options": options}


def _why(code: int, said: str) -> str:
    """Why a process ended without an answer."""
    if code < 0:
        return f"ended by signal {-code}, perhaps for want of memory"
    return (said.strip().splitlines() or [f"ended with {code}"])[-1]
