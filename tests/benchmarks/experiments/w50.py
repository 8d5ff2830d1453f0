"""a. W50, scaled: the kernel and `run()` beside the limit loop and beside running totals, one query at a time."""

from __future__ import annotations

import numpy as np

from tests.benchmarks import plain_python
from tests.benchmarks.answers import differences, require_equal
from tests.benchmarks.baseline_runs import (
    by_limit,
    by_running_totals,
    by_running_totals_tied,
    by_scan,
    limit_loop,
)
from tests.benchmarks.encoding import Encoded, encode
from tests.benchmarks.material import disturbed, guarded
from tests.benchmarks.report import Claim, Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject, answers
from tests.benchmarks.timing import Contender, interleaved, speed_up

OF_LIMIT_OPEN = 0.3
OF_LIMIT_CLOSED = 1.0
OF_LIMIT_DISTURBED = 0.5
OF_LIMIT_RUN = 0.6
TIMES_PYTHON = 20.0
TIMES_COMPILED = 2.0

LIMIT, OPEN, CLOSED = "limit loop (doubles that overflow)", "kernel, no closed form", "kernel, closed form"
DISTURBED, RUN = "kernel, closed form, each burst disturbed", "run() end to end"
COMPILED, PYTHON = "running totals compiled, a query at a time", "running totals in Python, a query at a time"
SCAN = "GRETA by scan compiled, a query at a time, windows of 500"
SHORT = 500
"""Ticks of a window whose counts fit a double."""


def measure(scale: Scale, subject: Subject) -> Finding:
    """Ratios of one run; the answers of all are those of the compiled running totals."""
    text = scale.w50(within=scale.of(10_000, 500))
    table = scale.stream(scale.of(2_000_000, 3_000))
    encoded = encode(text, table)
    expected = by_running_totals(encoded)
    check_limit(encoded.rewindowed(scale.of(SHORT, 200)).prefix(scale.of(400, 5)))

    def same(found: object) -> None:
        require_equal("W50", answers(found, encoded.names, encoded.window_starts), expected)

    few = encoded.prefix(scale.of(20, 2))
    short = encoded.rewindowed(scale.of(SHORT, 200)).prefix(scale.of(40, 2))
    short_expected = by_running_totals(short)
    contenders = [
        Contender(
            LIMIT, encoded.events, limit_loop(encoded), lambda found: check_overflowing(found, expected)
        ),
        Contender(OPEN, encoded.events, subject.fold(text, table, closed_form=False), same),
        Contender(CLOSED, encoded.events, subject.fold(text, table), same),
        disturbed_kernel(scale, subject, text, table),
        Contender(RUN, encoded.events, subject.run(text, table), same),
        Contender(
            COMPILED,
            encoded.events,
            lambda: by_running_totals(encoded),
            lambda found: require_equal(COMPILED, found, expected),
        ),
        Contender(
            PYTHON,
            few.events,
            lambda: in_python(few),
            lambda found: require_equal(PYTHON, found, expected[:, : few.windows]),
        ),
        Contender(
            SCAN,
            short.events,
            lambda: by_scan(short, ordered=False),
            lambda found: require_equal(SCAN, found, short_expected),
        ),
    ]
    timed = interleaved(contenders, scale.rounds)
    limit = timed[LIMIT]
    shares = [
        (OPEN, OF_LIMIT_OPEN),
        (CLOSED, OF_LIMIT_CLOSED),
        (DISTURBED, OF_LIMIT_DISTURBED),
        (RUN, OF_LIMIT_RUN),
    ]
    return Finding(
        "a",
        f"W50, scaled: {encoded.events:,} events, {len(encoded.names)} queries",
        tuple(timed.values()),
        (
            *(Claim(f"{name} / limit loop", speed_up(timed[name], limit), bound) for name, bound in shares),
            Claim("run() / running totals in Python", speed_up(timed[RUN], timed[PYTHON]), TIMES_PYTHON),
            Claim("run() / running totals compiled", speed_up(timed[RUN], timed[COMPILED]), TIMES_COMPILED),
            Claim("kernel / running totals compiled", speed_up(timed[CLOSED], timed[COMPILED])),
            Claim("run() / GRETA by scan, its windows 20 times shorter", speed_up(timed[RUN], timed[SCAN])),
        ),
        (
            (
                "Python is measured on a prefix of the stream and compared per event. GRETA by scan counts in doubles, "
                "so its windows are short; its cost per event grows with the window."
            ),
        ),
    )


def disturbed_kernel(scale: Scale, subject: Subject, text: str, table) -> Contender:
    """The kernel on the same stream with a tie, a NULL and a non-matching event in each burst."""
    stained, careful = disturbed(table), guarded(text)
    encoded = encode(careful, stained)
    matching = np.nan_to_num(stained["v"].to_numpy().astype(float), nan=np.inf) < 100
    expected = by_running_totals_tied(encoded, matching)

    def same(found: object) -> None:
        require_equal(DISTURBED, answers(found, encoded.names, encoded.window_starts), expected)

    return Contender(DISTURBED, encoded.events, subject.fold(careful, stained), same)


def in_python(encoded: Encoded) -> np.ndarray:
    """Every query by the Python loop."""
    codes, starts = encoded.lists
    pairs = zip(encoded.prefixes, encoded.suffixes, strict=True)
    return np.array([plain_python.scaled(codes, starts, *pair) for pair in pairs])


def check_limit(encoded: Encoded) -> None:
    """The limit loop on windows so short that doubles suffice."""
    found = by_limit(encoded)
    if np.isposinf(found).any():
        raise OverflowError("the windows on which the limit loop is checked are too long")
    require_equal("limit loop on short windows", found, by_running_totals(encoded))


def check_overflowing(counts: np.ndarray, expected: np.ndarray) -> None:
    """Right where doubles suffice, inf where they do not."""
    with np.errstate(divide="ignore"):
        found = np.log2(counts)
    shown = np.where(expected < 1020, expected, np.where(np.isposinf(found), np.inf, expected))
    if wrong := differences(found, shown):
        raise AssertionError(f"limit loop: {wrong[:5]}")
