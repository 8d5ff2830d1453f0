"""The benchmarks: tables on stdout and in files, progress on stderr; exit 1 if an answer is wrong or a bound missed.

Usage: python -m tests.benchmarks [--only a,d] [--quick] [--out DIR] [--engine NAME]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.benchmarks import machine

KEYS = {
    "a": "w50",
    "b": "ordered",
    "c": "exact",
    "d": "partitions",
    "e": "length",
    "f": "sliding",
    "f1": "of_sharon",
    "f2": "plans",
    "f3": "of_gloria",
    "f4": "of_hamlet",
    "h": "sharing",
    "k": "clicks",
    "m": "modes",
    "n": "cores",
    "o": "optimizers",
    "p": "spark",
    "q": "topic",
    "r": "pushed",
    "s": "startup",
    "t": "listing",
    "u": "files",
    "v": "overlapping",
}
"""Letter of a benchmark -> its module in `experiments`."""
FIGURES = ("f1", "f2", "f3", "f4")
"""Those of the papers: SHARON, GLORIA (plans, then runs), HAMLET."""
ON_REQUEST = (*FIGURES, "k", "n", "o", "p", "q", "u")
"""Those that run only if they are asked for: the figures, o, p, q and u take minutes, p and q start JVMs, k wants its peers (`make peers`), n, q and u two
cores that have nothing else to do.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen benchmarks one after the other."""
    options = _options(arguments)
    from tests.benchmarks.report import as_markdown, write
    from tests.benchmarks.subject import Subject

    subject = Subject(options.engine)
    if not subject.exists:
        machine.say(f"There is no engine {subject.engine} yet (--engine greta measures the reference).")
        return 2
    facts = machine.description()
    findings, paths = [], ()
    for key in options.only:
        begin = time.perf_counter()
        findings.append(_measured(key, options.quick, subject))
        machine.say(f"{key}. {KEYS[key]}: {time.perf_counter() - begin:.1f} s")
        paths = write(options.out, facts, findings)  # each time: what was measured outlives what fails later
    for path in paths:
        machine.say(str(path))
    print(as_markdown(facts, findings))
    return 0 if all(finding.met for finding in findings) else 1


def _measured(key, quick, subject):
    from importlib import import_module

    from tests.benchmarks.peers import NoPeers
    from tests.benchmarks.report import Finding
    from tests.benchmarks.scale import Scale

    module = import_module(f"tests.benchmarks.experiments.{KEYS[key]}")
    try:
        finding = module.measure(Scale(quick), subject)
    except (AssertionError, OverflowError) as wrong:
        machine.say(f"{key}. ANSWERS DIFFER: {wrong}")
        return Finding(key, KEYS[key], failure=f"answers differ: {wrong}")
    except NoPeers as missing:
        machine.say(f"{key}. {missing}")
        return Finding(key, KEYS[key], failure=str(missing))
    if quick:  # times of small streams mean nothing
        unbound = tuple(replace(claim, at_least=None, at_most=None) for claim in finding.claims)
        finding = replace(finding, claims=unbound)
    return finding


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    def letters(text: str) -> list[str]:
        chosen = [letter.strip() for letter in text.split(",")]
        if strange := [letter for letter in chosen if letter not in KEYS]:
            raise argparse.ArgumentTypeError(
                f"no benchmark {', '.join(strange)}; there are {', '.join(KEYS)}"
            )
        return chosen

    parser = argparse.ArgumentParser(prog="make bench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--only",
        type=letters,
        default=[key for key in KEYS if key not in ON_REQUEST],
        help=f"letters of {', '.join(KEYS)}",
    )
    parser.add_argument("--quick", action="store_true", help="small streams: check answers, not times")
    parser.add_argument(
        "--out", type=Path, default=machine.ROOT / "bench", help="folder of JSON and Markdown"
    )
    parser.add_argument("--engine", default="hamlet", help="engine under test")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    machine.one_core()
    sys.exit(main())
