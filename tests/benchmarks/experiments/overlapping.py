"""v. Windows that overlap, with `b.x < NEXT(b).x`: lanes of one fold beside a fold per window, and beside tumbling windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tests.benchmarks.answers import require_equal
from tests.benchmarks.baseline_runs import by_scan
from tests.benchmarks.encoding import Encoded, encode, windows_of
from tests.benchmarks.report import Claim, Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject, answers
from tests.benchmarks.timing import Contender, interleaved, speed_up

TIMES_APART = 6.0
TIMES_PASSES = 3.0
SLIDES, LENGTHS = 60, 5
TUMBLING, SLIDING, APART = (
    "one query, tumbling",
    "one query, sliding",
    "one query, sliding, a fold per window",
)
ONCE, PASSES = "five lengths, one fold", "five lengths, a pass each"


def measure(scale: Scale, subject: Subject) -> Finding:
    """One query in windows of 60 slides; and 50 that differ in WITHIN alone, one to five slides long."""
    within = scale.of(3_600, 240)
    slide, checked = within // SLIDES, scale.of(2, 1)
    table = scale.stream(scale.of(200_000, 1_200))
    step = within // LENGTHS
    one = scale.w50(within=within, slide=slide, adjacent=True).splitlines()[0]
    plain = scale.w50(within=within, adjacent=True).splitlines()[0]
    many, lengths = [], {}
    for number in range(scale.of(50, 10)):
        length = step * (1 + number % LENGTHS)
        query = scale.w50(within=length, slide=step, adjacent=True).splitlines()[0]
        many.append(f"n{number}{query[query.index(':') :]}")
        lengths[f"n{number}"] = length
    text, encoded = "\n".join(many), encode(plain, table)
    forced = {"windows": "apart"} if subject.engine == "hamlet" else {}

    def fold(name: str, text: str, widths: Mapping[str, int], slide: int, **force: str) -> Contender:
        truth = {width: by_phase(encoded, width, slide, checked) for width in {*widths.values()}}

        def same(found: object) -> None:
            starts = all_starts(encoded, max(widths.values()), slide)
            whole = answers(found, tuple(widths), starts)
            rows = zip(whole, widths.values(), strict=True)
            own = [row[np.searchsorted(starts, truth[width][0])] for row, width in rows]
            expected = [truth[width][1][0] for width in widths.values()]
            require_equal(name, np.concatenate(own)[None], np.concatenate(expected)[None])

        return Contender(name, encoded.events, subject.fold(text, table, policy="dynamic", **force), same)

    (name,) = encoded.names
    timed = interleaved(
        [
            fold(TUMBLING, plain, {name: within}, within),
            fold(SLIDING, one, {name: within}, slide),
            fold(APART, one, {name: within}, slide, **forced),
            fold(ONCE, text, lengths, step),
            fold(PASSES, text, lengths, step, **forced),
        ],
        scale.rounds,
    )
    return Finding(
        "v",
        f"Windows that overlap, b.x < NEXT(b).x: {encoded.events:,} events",
        tuple(timed.values()),
        (
            Claim("sliding / a fold per window", speed_up(timed[SLIDING], timed[APART]), TIMES_APART),
            Claim("five lengths / a pass each", speed_up(timed[ONCE], timed[PASSES]), TIMES_PASSES),
            Claim("cost of sliding / tumbling", speed_up(timed[TUMBLING], timed[SLIDING])),
        ),
        (
            (
                f"Windows of {within:,} events, {SLIDES} slides long; {len(many)} queries that differ in WITHIN alone, one to "
                f"{LENGTHS} slides long. Checked against the scan of {checked} windows of each phase, of every query."
            ),
        ),
    )


def all_starts(encoded: Encoded, within: int, slide: int) -> np.ndarray:
    """When windows of any of these phases begin that hold an event."""
    phases = (windows_of(encoded.times - offset, within)[1] + offset for offset in range(0, within, slide))
    return np.unique(np.concatenate(list(phases)))


def by_phase(encoded: Encoded, within: int, slide: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(window starts, log2 of counts) of the first full windows of each phase: those of tumbling windows begun later."""
    starts, counts = [], []
    for offset in range(0, within, slide):
        borders, begins = windows_of(encoded.times - offset, within)
        whole = int(np.searchsorted(begins, 0))  # before it lies one that the stream begins in
        own = slice(int(borders[whole]), int(borders[whole + count]))
        few = replace(
            encoded,
            codes=encoded.codes[own],
            times=encoded.times[own],
            x=encoded.x[own],
            starts=borders[whole : whole + count + 1] - borders[whole],
            window_starts=begins[whole : whole + count] + offset,
            within=within,
        )
        starts.append(few.window_starts)
        counts.append(by_scan(few, ordered=True))
    return np.concatenate(starts), np.concatenate(counts, axis=1)
