"""c. Exact arithmetic: W50 with counts of 10,000 bits beside running totals in Python integers, a query at a time."""

from __future__ import annotations

from statistics import median

import pyarrow as pa

from hamlet_core.algebra import arithmetic
from tests.benchmarks import plain_python
from tests.benchmarks.answers import WrongAnswer
from tests.benchmarks.encoding import Encoded, encode
from tests.benchmarks.report import Claim, Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject, whole_numbers
from tests.benchmarks.timing import Contender, interleaved, speed_up

TIMES_PYTHON = 5.0
PYTHON, KERNEL, RUN = (
    "running totals in Python integers, and their digits",
    "kernel, whole numbers",
    "run() end to end",
)


def measure(scale: Scale, subject: Subject) -> Finding:
    """Both ends are decimal digits; the kernel ends with whole numbers."""
    # Half the events are B, and each doubles a count; a query that ends with S stops before the window does.
    text = scale.w50(within=scale.of(26_000, 500))
    table = scale.stream(scale.of(208_000, 1_500))
    encoded = encode(text, table)
    expected = [count for row in counts(encoded) for count in row if count]

    texts = [arithmetic.digits(count, 0) for count in expected]

    def same(found: object) -> None:
        exact = (
            found["exact"].to_pylist() if isinstance(found, pa.Table) else whole_numbers(found, encoded.names)
        )
        if exact != (texts if isinstance(found, pa.Table) else expected):
            raise WrongAnswer("exact counts differ from those in Python integers")

    def same_texts(found: list[str]) -> None:
        if found != texts:
            raise WrongAnswer("the baseline's own digits differ")

    timed = interleaved(
        [
            Contender(PYTHON, encoded.events, lambda: in_digits(encoded), same_texts),
            Contender(KERNEL, encoded.events, subject.fold(text, table, "exact"), same),
            Contender(RUN, encoded.events, subject.run(text, table, "exact"), same),
        ],
        scale.rounds,
    )
    bits = median(count.bit_length() for count in expected)
    return Finding(
        "c",
        f"Exact: counts of {bits:,.0f} bits (median), {encoded.events:,} events, {len(encoded.names)} queries",
        tuple(timed.values()),
        (
            Claim(
                "run() / running totals in Python integers", speed_up(timed[RUN], timed[PYTHON]), TIMES_PYTHON
            ),
            Claim("kernel / running totals in Python integers", speed_up(timed[KERNEL], timed[PYTHON])),
        ),
    )


def counts(encoded: Encoded) -> list[list[int]]:
    """By query and window."""
    codes, starts = encoded.lists
    pairs = zip(encoded.prefixes, encoded.suffixes, strict=True)
    return [plain_python.exact(codes, starts, *pair) for pair in pairs]


def in_digits(encoded: Encoded) -> list[str]:
    """What a user sees: decimal digits of every count."""
    return [arithmetic.digits(count, 0) for row in counts(encoded) for count in row if count]
