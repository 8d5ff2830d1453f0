"""f. Sliding windows, WITHIN = 20 slides: the automatic choice beside lanes per window and pane maps, each forced."""

from __future__ import annotations

import numpy as np

from tests.benchmarks.answers import require_equal
from tests.benchmarks.baseline_runs import by_running_totals
from tests.benchmarks.encoding import Encoded, encode, windows_of
from tests.benchmarks.report import Claim, Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject, answers
from tests.benchmarks.timing import Contender, interleaved

OF_CHEAPER = 1.1
OF_TUMBLING = 5.0
SLIDES = 20
TUMBLING, AUTOMATIC = "kernel, tumbling windows", "kernel, sliding, automatic choice"
LANES, PANES = "kernel, sliding, lanes per window", "kernel, sliding, pane maps"
RUN_TUMBLING, RUN = "run(), tumbling windows", "run(), sliding"


def measure(scale: Scale, subject: Subject) -> Finding:
    """The answers of sliding windows are those of 20 runs of tumbling windows, each begun a slide later."""
    within = scale.of(10_000, 400)
    slide = within // SLIDES
    table = scale.stream(scale.of(2_000_000, 1_200))
    tumbling, sliding = scale.w50(within=within), scale.w50(within=within, slide=slide)
    encoded = encode(tumbling, table)
    expected = by_running_totals(encoded)
    starts, sliding_expected = by_phase(encoded, slide)

    def same(found: object) -> None:
        require_equal("tumbling", answers(found, encoded.names, encoded.window_starts), expected)

    def same_sliding(found: object) -> None:
        require_equal("sliding", answers(found, encoded.names, starts), sliding_expected)

    def fold(name: str, **force: str) -> Contender:
        return Contender(name, encoded.events, subject.fold(sliding, table, **force), same_sliding)

    timed = interleaved(
        [
            Contender(TUMBLING, encoded.events, subject.fold(tumbling, table), same),
            fold(AUTOMATIC),
            fold(LANES, windows="lanes"),
            fold(PANES, windows="panes"),
            Contender(RUN_TUMBLING, encoded.events, subject.run(tumbling, table), same),
            Contender(RUN, encoded.events, subject.run(sliding, table), same_sliding),
        ],
        scale.rounds,
    )
    cheaper = min(timed[LANES].median, timed[PANES].median)
    automatic = timed[AUTOMATIC].median
    return Finding(
        "f",
        f"Sliding windows, WITHIN = {SLIDES} slides: {encoded.events:,} events, WITHIN {within:,}",
        tuple(timed.values()),
        (
            Claim("automatic / cheaper of the two forced", automatic / cheaper, at_most=OF_CHEAPER),
            Claim("automatic / tumbling", automatic / timed[TUMBLING].median, at_most=OF_TUMBLING),
            Claim("run(): sliding / tumbling", timed[RUN].median / timed[RUN_TUMBLING].median),
        ),
    )


def by_phase(encoded: Encoded, slide: int) -> tuple[np.ndarray, np.ndarray]:
    """(window starts, log2 of counts) of all sliding windows that hold an event."""
    found = []
    for offset in range(0, encoded.within, slide):
        borders, begins = windows_of(encoded.times - offset, encoded.within)
        phase = encoded.cut(borders, begins + offset)
        found.append((phase.window_starts, by_running_totals(phase)))
    starts = np.concatenate([begins for begins, _ in found])
    order = np.argsort(starts)
    return starts[order], np.concatenate([counts for _, counts in found], axis=1)[:, order]
