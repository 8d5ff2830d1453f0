"""Outcomes of a comparison in, a table for people, an Arrow table and a picture out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from math import ceil, floor, log10
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pyarrow as pa

from pipelines.comparing.runs import Outcome
from pipelines.ending import unfinished
from pipelines.showing.formats import WRITERS
from pipelines.showing.people import print_table
from pipelines.showing.pictures import COLOURS, FAINT, figure, short, styled
from pipelines.showing.plots import brief

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TABLE, PICTURE = "comparison", "comparison.svg"
"""Names of the files: the table as .csv and .json."""
_TITLES = ("engine", "events/s", "time", "memory", "planning", "answer")
_WIDTH = 7.6
_PANELS: tuple[tuple[str, Callable[[Outcome], float], bool], ...] = (
    ("events/s", lambda one: one.events_per_second, True),
    ("time of a run (s)", lambda one: one.seconds, True),
    ("peak memory (MB)", lambda one: one.peak_bytes / 1e6, False),
    ("planning who shares (ms)", lambda one: 1e3 * one.planning_seconds, False),
)
"""Title, number, and whether its scale is logarithmic."""


def show(outcomes: Sequence[Outcome], out: IO[str]) -> None:
    """A line per member: medians of its runs, the peak of memory, and whether its answer is that of the first."""
    rows = [(one.member.name, *_numbers(one), _answer(one)) for one in outcomes]
    print_table(_TITLES, rows, out, right=_TITLES[1:5])


def _numbers(outcome: Outcome) -> tuple[str, ...]:
    if not outcome.runs:
        return ("-",) * 4
    return (
        f"{outcome.events_per_second:,.0f}",
        _time(outcome.seconds),
        f"{outcome.peak_bytes / 1e6:,.0f} MB",
        _time(outcome.planning_seconds),
    )


def _answer(outcome: Outcome) -> str:
    if outcome.differences:
        return f"differs in {len(outcome.differences):,} places"
    return outcome.reason or "the same"


def _time(seconds: float) -> str:
    """Seconds, or milliseconds below one.

    >>> _time(61.04), _time(0.0123), _time(0)
    ('61.0 s', '12.3 ms', '0.0 ms')
    """
    return f"{seconds:,.1f} s" if seconds >= 1 else f"{1e3 * seconds:.1f} ms"


def as_table(outcomes: Sequence[Outcome]) -> pa.Table:
    """The same with every digit: engine, policy, cost_model, optimizer, events_per_second, seconds (median, of each run below),
    planning_seconds, peak_bytes, differences, reason.
    """
    rows = [
        {
            "member": one.member.name,
            "engine": one.member.engine,
            "policy": one.member.policy,
            "cost_model": one.member.cost_model,
            "optimizer": one.member.optimizer,
            "events": one.events,
            "runs": len(one.runs),
            "events_per_second": one.events_per_second if one.runs else None,
            "seconds": one.seconds if one.runs else None,
            "planning_seconds": one.planning_seconds if one.runs else None,
            "peak_bytes": one.peak_bytes if one.runs else None,
            "differences": len(one.differences) if one.runs else None,
            "reason": one.reason or None,
        }
        for one in outcomes
    ]
    kinds = {"events_per_second": pa.float64(), "seconds": pa.float64(), "planning_seconds": pa.float64()}
    kinds |= dict.fromkeys(("events", "runs", "peak_bytes", "differences"), pa.int64())
    return pa.Table.from_pylist(
        rows, schema=pa.schema([(name, kinds.get(name, pa.string())) for name in rows[0]])
    )


def write(outcomes: Sequence[Outcome], folder: Path) -> None:
    """Table and, if anybody has answered, picture into a folder, each file whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    table = as_table(outcomes)
    for format_ in ("csv", "json"):
        with _whole(folder / f"{TABLE}.{format_}") as part, part.open("wb") as file:
            WRITERS[format_](table, file)
    if any(one.runs for one in outcomes):
        with styled(), _whole(folder / PICTURE) as part:
            _draw(outcomes, part)


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Where to write what is to stand at `path` in the end."""
    part = Path(f"{path}.part")
    with unfinished(part):
        yield part
        part.replace(path)


def _draw(outcomes: Sequence[Outcome], path: Path) -> None:
    """A panel of bars per number; below them who has none, and why."""
    drawn = [one for one in outcomes if one.runs]
    others = [one for one in outcomes if not one.runs]
    height, below = 0.24 * len(drawn) + 0.55, 0.17 * len(others) + 0.15
    whole = 2 * height + below
    sheet = figure(_WIDTH, whole, layout=None)
    grid = {
        "left": 0.15,
        "right": 0.97,
        "top": 1 - 0.32 / whole,
        "bottom": (below + 0.3) / whole,
        "hspace": 0.55 / (0.24 * len(drawn)),
        "wspace": 0.14,
    }
    panels = sheet.subplots(2, 2, gridspec_kw=grid).flat
    for place, (axes, (title, number, logarithmic)) in enumerate(zip(panels, _PANELS, strict=True)):
        names = [one.member.name for one in drawn] if place % 2 == 0 else []
        _panel(axes, names, [number(one) for one in drawn], logarithmic=logarithmic)
        axes.set_title(title, fontsize=8)
    for line, one in enumerate(others):
        text = short(f"{one.member.name}: {one.reason}", 130)
        sheet.text(0.02, (below - 0.17 * (line + 1)) / whole, text, fontsize=6.5, color=FAINT)
    sheet.savefig(path, format="svg")


def _panel(axes: Axes, names: Sequence[str], numbers: Sequence[float], *, logarithmic: bool) -> None:
    """Bars from zero, or points between powers of ten; without names those of the panel beside it."""
    from matplotlib.ticker import NullFormatter

    places = range(len(numbers))
    if logarithmic:
        axes.plot(numbers, places, "o", color=COLOURS[0], markersize=5)
        axes.set_xscale("log")
        axes.set_xlim(10 ** floor(log10(min(numbers)) - 0.05), 10 ** ceil(log10(max(numbers)) + 0.05))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.barh(places, numbers, color=COLOURS[0], height=0.7)
    axes.xaxis.set_major_formatter(lambda number, _: brief(number))
    axes.set_ylim(len(numbers) - 0.5, -0.5)
    axes.set_yticks(places, names or [""] * len(numbers))
    axes.tick_params(labelsize=7)
    axes.grid(axis="y", visible=logarithmic)
