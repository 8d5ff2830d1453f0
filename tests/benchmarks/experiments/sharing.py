"""h. What sharing is worth: the policy dynamic beside always, never and GRETA by scan.

Kernels alone in six workloads; and whole runs of fifty generated queries over each of four generated streams.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from hamlet_core import execute, run
from hamlet_core.sharing.costs import Constants
from hamlet_core.streams import generate_stream, generate_workload
from tests.benchmarks.answers import require_equal, require_same_rows
from tests.benchmarks.baseline_runs import by_scan
from tests.benchmarks.encoding import encode
from tests.benchmarks.material import in_phases, of_five_classes
from tests.benchmarks.reference import reference, starts_of
from tests.benchmarks.report import Claim, Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject, answers
from tests.benchmarks.timing import Contender, Timing, interleaved, speed_up

TIMES_NEVER = 4.0
TIMES_SCAN = 400.0
OF_BETTER = 1.05
"""Of the better of the two static policies, in every workload."""
TIMES_STATIC = 1.2
"""As fast as either static policy, where phases alternate."""
PHASE = 20
"""Windows of a phase in which sharing helps, or hurts."""
CHECKED = 3
"""Windows that are compared with baselines."""
OF_DECIDING, OF_LOG = 0.03, 1.03
STREAMS = "ridesharing", "smart_home", "taxi", "stock"
"""With ties, NULLs and conditions between neighbours, as most streams have some."""
FIRST = 1_000
"""Events of such a stream on which rows are compared with those of greta."""
PERTURBED = {
    "as they are": {},
    "lanes dearer": {"level": 2.0, "product": 0.5, "mixed": 0.5, "clear": 0.5},
    "snapshots dearer": {"level": 0.5, "product": 2.0, "mixed": 2.0, "clear": 2.0},
}
POLICIES = DYNAMIC, ALWAYS, NEVER = "dynamic", "always", "never"
NEXT = "W50 with NEXT"
SCAN = "W50 with NEXT, GRETA by scan compiled, a query at a time"


@dataclass(frozen=True)
class Case:
    """A workload and its stream; `phase`: ticks after which the stream changes."""

    name: str
    text: str
    table: pa.Table
    within: int
    phase: int = 0


def measure(scale: Scale, subject: Subject) -> Finding:
    """Each case in turns of its own, so that one stream is at hand at a time."""
    timings: list[Timing] = []
    claims: list[Claim] = []
    for case in cases(scale):
        beside = (by_scanning(scale, case),) if case.name == NEXT else ()
        timed = interleaved([*by_policies(scale, subject, case), *beside], scale.rounds)
        dynamic, always, never = (timed[named(case, policy)] for policy in POLICIES)
        timings += timed.values()
        if beside:
            claims += [
                Claim(f"{NEXT}: dynamic / never", speed_up(dynamic, never), TIMES_NEVER),
                Claim(f"{NEXT}: dynamic / GRETA by scan", speed_up(dynamic, timed[SCAN]), TIMES_SCAN),
            ]
        better = min(always.median, never.median)
        claims.append(
            Claim(f"{case.name}: dynamic s / better static s", dynamic.median / better, at_most=OF_BETTER)
        )
    case = alternating(scale)
    timed = interleaved(by_policies(scale, subject, case), scale.rounds)
    timings += timed.values()
    claims += [
        Claim(
            f"{case.name}: dynamic / {policy}",
            speed_up(timed[named(case, DYNAMIC)], timed[named(case, policy)]),
            TIMES_STATIC,
        )
        for policy in (ALWAYS, NEVER)
    ]
    for name in STREAMS:
        timed, told = generated(scale, name)
        timings += timed.values()
        claims.append(told)
    decided = perturbed(scale, subject, case)
    logged, told = log_and_decisions(scale, subject)
    timings += logged.values()
    different = float(len({tuple(row.values())[1:] for row in decided}))
    claims += [
        *told,
        Claim(f"{case.name}: constants that decide otherwise, of three", different, 3.0, unit=""),
    ]
    return Finding(
        "h",
        f"Sharing: {case.table.num_rows:,} events, windows of {case.within:,}, kernels alone",
        tuple(timings),
        tuple(claims),
        (
            (
                "Seconds are compared with the better static policy: below 1 dynamic is faster. Every policy's "
                "answers are those of never, and on some windows those of compiled baselines."
            ),
            "Share of the time that deciding takes: cycles of the processor counted around it, inside of the kernel.",
            "Generated streams are whole runs from Arrow to rows, one thread; the first events are checked by greta.",
        ),
        {"Alternating phases, constants of the measured cost model doubled and halved": decided},
    )


def generated(scale: Scale, name: str) -> tuple[dict[str, Timing], Claim]:
    """Fifty queries over a generated stream from Arrow to rows: dynamic with its log, and both static policies without."""
    events, queries = scale.of(300_000, 3_000), scale.of(50, 6)
    table = generate_stream(name, events, 11, tie_rate=0.1, null_rate=0.03)
    text = generate_workload(name, queries, 12, adjacent_rate=0.3)
    first = table.slice(0, FIRST)
    require_same_rows(f"{name}, greta", run(text, first), run(text, first, engine="greta"))
    expected = run(text, table, policy=NEVER)

    def contender(policy: str) -> Contender:
        call = (
            partial(_with_log, text, table) if policy == DYNAMIC else partial(run, text, table, policy=policy)
        )
        label = f"{name}, {queries} queries, {policy}{' with log' if policy == DYNAMIC else ''}"
        return Contender(label, len(table), call, lambda found: require_same_rows(label, found, expected))

    timed = interleaved([contender(policy) for policy in POLICIES], 2 * scale.rounds + 1)
    dynamic, *static = timed.values()
    better = min(static, key=lambda one: one.median)
    ratios = [one / other for one, other in zip(dynamic.seconds, better.seconds, strict=True)]
    return timed, Claim(
        f"{name}: dynamic with log s / better static s, median of pairs", median(ratios), at_most=OF_BETTER
    )


def _with_log(text: str, table: pa.Table) -> pa.Table:
    return execute(text, table).results


def perturbed(scale: Scale, subject: Subject, case: Case) -> list[dict[str, Any]]:
    """What is decided with other constants; fails if answers differ."""
    rows = []
    for name, factors in PERTURBED.items():
        constants = replace(
            Constants(), **{one: getattr(Constants(), one) * by for one, by in factors.items()}
        )
        (contender, *_) = by_policies(scale, subject, case, constants=constants)
        contender.check(contender.call())
        work = contender.call.__self__.work()  # type: ignore[attr-defined]
        rows.append(
            {
                "constants": name,
                "bursts decided": work.decided_bursts,
                "shared": work.shared_bursts,
                "snapshots": work.snapshots,
            }
        )
    return rows


def log_and_decisions(scale: Scale, subject: Subject) -> tuple[dict[str, Timing], list[Claim]]:
    """What the log costs, by pairs in turns, and what deciding takes of the time."""
    case = next(cases(scale))
    names = {f"{NEXT}, log {'on' if log else 'off'}": log for log in (False, True)}
    contenders = [
        replace(by_policies(scale, subject, case, log=log)[0], name=name) for name, log in names.items()
    ]
    timed = interleaved(contenders, 3 * scale.rounds)
    off, on = (timed[name] for name in names)
    pairs = [one / other for one, other in zip(on.seconds, off.seconds, strict=True)]
    work = contenders[0].call.__self__.work()  # type: ignore[attr-defined]
    return timed, [
        Claim(f"{NEXT}: deciding / all of dynamic", work.decision_seconds / off.median, at_most=OF_DECIDING),
        Claim(f"{NEXT}: log on / off, median of pairs", median(pairs), at_most=OF_LOG),
    ]


def cases(scale: Scale) -> Iterator[Case]:
    """Five workloads in which dynamic must be about as fast as the better static policy."""
    within = scale.of(10_000, 200)
    table = scale.stream(scale.of(2_000_000, 1_200))
    ordered = scale.w50(within=within, adjacent=True)
    yield Case(NEXT, ordered, table, within)
    yield Case("W50", scale.w50(within=within), table, within)
    yield Case("Selectivities of 10 to 90 %", scale.w50(within=within, local=True), table, within)
    yield Case("Five NEXT conditions, three windows", of_five_classes(ordered, within), table, within)
    yield Case(
        "W50, bursts of 3", scale.w50(within=within), scale.stream(len(table), burst_length=3.0), within
    )


def alternating(scale: Scale) -> Case:
    """Phases in which all queries match every B, and phases in which they disagree on most; two types P, two S."""
    within = scale.of(10_000, 100)
    phase = within * scale.of(PHASE, 3)
    table = in_phases(scale.stream(scale.of(2_000_000, 1_200), types=2), phase)
    text = scale.w50(within=within, types=2, adjacent=True, local=True)
    return Case("Alternating phases", text, table, within, phase)


def named(case: Case, policy: str) -> str:
    return f"{case.name}, {policy}"


def by_policies(scale: Scale, subject: Subject, case: Case, **force: Any) -> list[Contender]:
    """The kernels under each policy; all answers are those of never, which are those of the baselines on some windows."""
    known = reference(case.text, some_windows(case))
    starts = starts_of(case.text, case.table)
    places = np.searchsorted(starts, known.window_starts)
    folds = {
        policy: subject.fold(case.text, case.table, policy=policy, **force) for policy in reversed(POLICIES)
    }
    expected = answers(folds[NEVER](), known.names, starts)
    require_equal(named(case, "baselines"), expected[:, places], known.log2)

    def contender(policy: str) -> Contender:
        name = named(case, policy)
        return Contender(
            name,
            len(case.table),
            folds[policy],
            lambda found: require_equal(name, answers(found, known.names, starts), expected),
        )

    return [contender(policy) for policy in POLICIES]


def by_scanning(scale: Scale, case: Case) -> Contender:
    """GRETA by scan on the first windows."""
    few = encode(case.text, case.table).prefix(scale.of(4, 2))
    expected = by_scan(few, ordered=True)
    return Contender(
        SCAN,
        few.events,
        lambda: by_scan(few, ordered=True, vectorised=False),
        lambda found: require_equal(SCAN, found, expected),
    )


def some_windows(case: Case) -> pa.Table:
    """The events of the first windows, and of the first windows of the second phase."""
    times = case.table["time"].to_numpy()
    into = times % case.phase if case.phase else times
    few = (into < CHECKED * case.within) & (times < 2 * (case.phase or len(times)))
    return case.table.filter(pa.array(few))
