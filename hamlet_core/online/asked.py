"""What a stream is asked: queries that come and go, and which windows each of them answers for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from hamlet_core.engines.registry import check_queries
from hamlet_core.errors import StreamError
from hamlet_core.execution import Meaning, workload_of
from hamlet_core.language.parser import parse_syntax
from hamlet_core.language.syntax import Query, Workload
from hamlet_core.language.writer import write_workload
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.windows import WindowSpec


@dataclass(frozen=True)
class Asked:
    """The queries, in the order of results."""

    workload: Workload
    since: Mapping[str, int] = field(default_factory=dict)
    """By name of a query that came later: its windows begin after this time."""

    @classmethod
    def of(cls, workload: Workload | str) -> Asked:
        """The queries of a workload, read from a text: errors point at their places in it."""
        tree = workload_of(workload)
        return cls(tree if isinstance(workload, str) else _written(tree.queries))

    @property
    def text(self) -> str:
        """Of all queries; empty if there are none."""
        return self.workload.text

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the queries."""
        return tuple(query.name for query in self.workload.queries)

    @cached_property
    def meaning(self) -> Meaning:
        """Of all queries."""
        return Meaning(analyse_workload(self.workload))

    @cached_property
    def _parts(self) -> dict[tuple[int, ...], Meaning]:
        return {}

    def part(self, places: tuple[int, ...]) -> Meaning:
        """The meaning of some of the queries."""
        if places not in self._parts:
            self._parts[places] = Meaning(tuple(self.meaning.queries[place] for place in places))
        return self._parts[places]

    def added(self, text: object, engine: str, since: int | None) -> Asked:
        """With the queries of a text, whose windows begin after a time (None: no event has come yet)."""
        new = workload_of(text)
        check_queries(engine, analyse_workload(new), new.text)
        taken = [query.name for query in new.queries if query.name in self.names]
        if taken:
            raise StreamError(
                f"the stream has a query {taken[0]!r}",
                code="E222",
                hint="give the new one another label, or remove the old one first",
            )
        later = {} if since is None else dict.fromkeys((query.name for query in new.queries), since)
        return Asked(_written((*self.workload.queries, *new.queries)), {**self.since, **later})

    def removed(self, name: object) -> Asked:
        """Without one of the queries."""
        if name not in self.names:
            there = ", ".join(map(repr, self.names)) or "no query"
            raise StreamError(f"the stream has no query {name!r}", code="E222", hint=f"it has {there}")
        kept = tuple(query for query in self.workload.queries if query.name != name)
        return Asked(_written(kept), {key: time for key, time in self.since.items() if key != name})

    def first_window(self, place: int, spec: WindowSpec) -> int | None:
        """The number of the first window that a query answers for; None if there is no such limit."""
        since = self.since.get(self.names[place])
        return None if since is None else (since - spec.origin) // spec.slide + 1

    def open_from(self, place: int, spec: WindowSpec, until: int) -> int:
        """The number of the first window of a query that ends after a time, of those that it answers for."""
        found, first = (until - spec.within - spec.origin) // spec.slide + 1, self.first_window(place, spec)
        return found if first is None else max(found, first)

    def closing(
        self, place: int, spec: WindowSpec, ends: tuple[int | None, int | None], times: tuple[int, int]
    ) -> range:
        """The windows of a query that end after one time, up to another, and may hold an event.

        No first time: from the beginning, no second one: to the end. `times`: the first and the largest of events.
        """
        (before, until), (first, top) = ends, times
        stop = spec.indices(top).stop if until is None else self.open_from(place, spec, until)
        start = spec.indices(first).start
        return range(start if before is None else max(start, self.open_from(place, spec, before)), stop)


def _written(queries: Iterable[Query]) -> Workload:
    """Queries as they are read from a text of theirs."""
    found = tuple(queries)
    return parse_syntax(write_workload(Workload(found))) if found else Workload(())


def calls(
    specs: Sequence[WindowSpec], wanted: Sequence[range]
) -> list[tuple[tuple[int, ...], dict[WindowSpec, range]]]:
    """Places of queries to fold together, and their windows: queries of one specification want the same ones there."""
    found: list[tuple[list[int], dict[WindowSpec, range]]] = []
    for place, (spec, own) in enumerate(zip(specs, wanted, strict=True)):
        if own:
            call = next((one for one in found if one[1].get(spec, own) == own), None)
            if call is None:
                call = ([], {})
                found.append(call)
            call[0].append(place)
            call[1][spec] = own
    return [(tuple(places), only) for places, only in found]
