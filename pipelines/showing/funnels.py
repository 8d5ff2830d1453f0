"""Result rows of a query with several REACH to its funnel: how many get to each step, all windows added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core import Workload
from hamlet_core.describe.funnel import Step, funnel_steps
from pipelines.showing.people import window
from pipelines.showing.rows import rows_of


@dataclass(frozen=True, slots=True)
class Reached:
    """How many got to each step, in the order of the steps, in one group or in all."""

    group: str
    """The group key."""
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Funnel:
    """A query's results as a funnel. Who is in several windows or groups counts in each."""

    query: str
    steps: tuple[Step, ...]
    counts: tuple[int, ...]
    """Of all groups."""
    groups: tuple[Reached, ...]
    """The largest first: by how many got to the first step, then to the next."""
    windows: int
    period: str
    """From the first window to the last, in words; both are the same where there is one."""

    @property
    def added_up(self) -> str:
        """What the counts are sums of; nothing for one window and one group."""
        windows = f"{self.windows:,} windows" if self.windows > 1 else ""
        groups = f"{len(self.groups):,} groups" if len(self.groups) > 1 else ""
        return " and ".join(part for part in (windows, groups) if part)


def funnels(workload: Workload, results: pa.Table) -> dict[str, Funnel]:
    """Query -> its funnel, of the queries with several REACH that have results (the columns of `hamlet_core.run`)."""
    asked = {query.name: funnel_steps(query) for query in workload.queries}
    found = {name: _funnel(name, steps, results) for name, steps in asked.items() if steps}
    return {name: funnel for name, funnel in found.items() if funnel}


def _funnel(query: str, steps: tuple[Step, ...], results: pa.Table) -> Funnel | None:
    labels = pa.array([step.aggregate for step in steps])
    mine = results.filter(
        pc.and_(pc.equal(results["query"], query), pc.is_in(results["aggregate"], value_set=labels))
    )
    if not mine.num_rows:
        return None
    sums = mine.group_by(["group_key", "aggregate"]).aggregate([("value", "sum")])
    counts: dict[str, dict[str, int]] = {}
    for key, aggregate, count in zip(*(sums[name].to_pylist() for name in sums.column_names), strict=True):
        counts.setdefault(key, {})[aggregate] = round(count or 0)
    groups = [
        Reached(key, tuple(found.get(one.aggregate, 0) for one in steps)) for key, found in counts.items()
    ]
    groups.sort(key=lambda one: (*(-count for count in one.counts), one.group))
    total = tuple(sum(column) for column in zip(*(one.counts for one in groups), strict=True))
    ordered = mine.select(["window_start", "window_end"]).sort_by("window_start")
    first, last = (next(rows_of(ordered.slice(place, 1))) for place in (0, ordered.num_rows - 1))
    windows = pc.count_distinct(mine["window_start"]).as_py()
    period = window({"window_start": first["window_start"], "window_end": last["window_end"]})
    return Funnel(query, steps, total, tuple(groups), windows, period)


def share(part: int, whole: int) -> str:
    """A part in per cent; neither all nor nothing unless it is.

    >>> share(412, 1000), share(1, 30_000), share(29_999, 30_000), share(0, 0)
    ('41.2 %', '<0.1 %', '>99.9 %', '-')
    """
    if not whole:
        return "-"
    said = f"{100 * part / whole:.1f} %"
    if part and said == "0.0 %":
        return "<0.1 %"
    return ">99.9 %" if part < whole and said == "100.0 %" else said


def conversion(steps: Sequence[Step], counts: Sequence[int]) -> str:
    """Counts of the steps in a line, with the share of the step before.

    >>> steps = (Step("view", "REACH(v)", None, None), Step("pay", "REACH(p)", 0, 0))
    >>> conversion(steps, (1000, 412))
    'view 1,000 -> pay 412 (41.2 %)'
    """
    said = ""
    for place, (step, count) in enumerate(zip(steps, counts, strict=True)):
        follows = step.before == place - 1 and place > 0
        said += (" -> " if follows else ", ") if place else ""
        said += f"{step.name} {count:,}"
        if step.before is not None:
            of = "" if follows else f" of {steps[step.before].name}"
            said += f" ({share(count, counts[step.before])}{of})"
    return said


def sentence(funnel: Funnel) -> str:
    """The funnel of all windows and groups in a line."""
    added = f", {funnel.added_up} added up" if funnel.added_up else ""
    return f"{funnel.query}{added}: {conversion(funnel.steps, funnel.counts)}"
