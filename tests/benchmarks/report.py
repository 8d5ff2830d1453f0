"""What a benchmark found, as JSON and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.benchmarks.timing import Timing


@dataclass(frozen=True)
class Claim:
    """A measured number and the bound it has to keep; without a bound it is shown only."""

    name: str
    value: float
    at_least: float | None = None
    at_most: float | None = None
    unit: str = "x"

    @property
    def met(self) -> bool:
        """Told as Python's own, for numbers of numpy compare to another kind of truth, which JSON does not have."""
        return bool(
            (self.at_least is None or self.value >= self.at_least)
            and (self.at_most is None or self.value <= self.at_most)
        )

    @property
    def bound(self) -> str:
        if self.at_least is not None:
            return f">= {self.at_least:g}"
        return f"<= {self.at_most:g}" if self.at_most is not None else ""


@dataclass(frozen=True)
class Finding:
    """The outcome of one benchmark. `failure` says why there is none, `tables` are further rows under a heading,
    `pictures` are PNGs by name.
    """

    key: str
    title: str
    timings: tuple[Timing, ...] = ()
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    pictures: dict[str, bytes] = field(default_factory=dict)
    failure: str = ""

    @property
    def met(self) -> bool:
        return not self.failure and all(claim.met for claim in self.claims)


def as_json(machine: dict[str, Any], findings: Sequence[Finding]) -> str:
    """All numbers, every round included."""
    benchmarks = [
        {
            "key": finding.key,
            "title": finding.title,
            "met": finding.met,
            "failure": finding.failure,
            "timings": [
                {
                    "name": timing.name,
                    "events": timing.events,
                    "seconds": timing.seconds,
                    "median": timing.median,
                    "million_events_per_second": timing.rate,
                }
                for timing in finding.timings
            ],
            "claims": [
                {"name": claim.name, "value": claim.value, "bound": claim.bound, "met": claim.met}
                for claim in finding.claims
            ],
            "tables": finding.tables,
            "pictures": [_file_name(name) for name in finding.pictures],
            "notes": finding.notes,
        }
        for finding in findings
    ]
    return json.dumps({"machine": machine, "benchmarks": benchmarks}, indent=1) + "\n"


def as_markdown(machine: dict[str, Any], findings: Sequence[Finding]) -> str:
    """Tables to be read."""
    lines = ["# Benchmarks", "", ", ".join(f"{name} {value}" for name, value in machine.items()), ""]
    for finding in findings:
        lines += [f"## {finding.key}. {finding.title}", ""]
        if finding.failure:
            lines += [f"**FAILED**: {finding.failure}", ""]
        if finding.timings:
            lines += _table(
                ("what", "events", "median s", "million events/s"),
                [
                    (one.name, f"{one.events:,}", f"{one.median:.4g}", f"{one.rate:.3g}")
                    for one in finding.timings
                ],
            )
        if finding.claims:
            lines += _table(
                ("number", "value", "bound", "met"),
                [
                    (
                        claim.name,
                        f"{claim.value:.3g} {claim.unit}".strip(),
                        claim.bound,
                        ("yes" if claim.met else "**NO**") if claim.bound else "",
                    )
                    for claim in finding.claims
                ],
            )
        for heading, rows in finding.tables.items():
            lines += [
                heading,
                "",
                *_table(tuple(rows[0]), [tuple(map(_shown, row.values())) for row in rows]),
            ]
        lines += [line for name in finding.pictures for line in (f"![{name}]({_file_name(name)})", "")]
        lines += [*finding.notes, ""] if finding.notes else []
    return "\n".join(lines)


def write(folder: Path, machine: dict[str, Any], findings: Sequence[Finding]) -> tuple[Path, ...]:
    """`benchmarks.json`, `benchmarks.md` and the pictures in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "benchmarks.json": as_json(machine, findings).encode(),
        "benchmarks.md": as_markdown(machine, findings).encode(),
        **{_file_name(name): drawn for finding in findings for name, drawn in finding.pictures.items()},
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return tuple(folder / name for name in files)


def _file_name(picture: str) -> str:
    return f"{picture}.png"


def _shown(value: Any) -> str:
    return (
        f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    return [line(heads), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *map(line, rows), ""]
