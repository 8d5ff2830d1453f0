"""Sliding windows that close a few at a time: joined from panes that were folded when they came, where that costs less.

What is kept of panes can be made again from the events that are held: it is in no state of a session.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hamlet_core.engines.hamlet.panes.maps import maps_fold
from hamlet_core.engines.registry import DEFAULT_ENGINE, Options
from hamlet_core.execution import Meaning, chain_of_panes, check_windows
from hamlet_core.online.held import Held, Kinds
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.results.totals import Totals
from hamlet_core.template.workload import Path, path_of
from hamlet_core.windows import WindowSpec

if TYPE_CHECKING:
    from hamlet_core.engines.hamlet.chains.chain import Chain

FOLD = 100.0
"""Nanoseconds that an event costs a query where it is folded once more, about."""
JOIN = 1_500_000.0
"""Nanoseconds that a window costs which is joined from panes, about."""


@dataclass
class Chains:
    """Mutable: the chains of panes of a session."""

    options: Options
    made: dict[Hashable, Chain | None] = field(default_factory=dict)
    """None: the values of these queries cannot be joined from panes."""
    folded: int = 0
    """Events that they have folded."""

    @property
    def bytes(self) -> int:
        """Of what is kept of panes."""
        return sum(chain.bytes for chain in self.made.values() if chain is not None)

    def alike(self, meaning: Meaning, places: Sequence[int], specs: Sequence[WindowSpec]) -> list[list[int]]:
        """Those of the queries at these places that have chains, by chain; `specs` by query of all."""
        found: dict[Hashable, list[int]] = {}
        if self.options.engine == DEFAULT_ENGINE:
            for place in places:
                query, spec = meaning.queries[place], specs[place]
                if _has_chain(query, spec):
                    key = spec, frozenset(query.equivalence), frozenset(query.group_by)
                    found.setdefault(key, []).append(place)
        return list(found.values())

    def totals(
        self,
        queries: Sequence[AnalysedQuery],
        spec: WindowSpec,
        windows: range,
        held: Held,
        kinds: Kinds,
        text: str,
    ) -> list[Totals] | None:
        """Totals of queries that are alike in these windows; None if folding the events again costs less."""
        first, (before, last) = spec.bounds(windows.start)[0], spec.bounds(windows.stop - 1)
        before = spec.bounds(windows.start - 1)[1]
        again = held.count(first, before)
        if again * FOLD * len(queries) < len(windows) * JOIN:
            return None
        key = spec, tuple(query.query.name for query in queries)
        if key not in self.made:
            self.made[key] = chain_of_panes(queries, spec, self.options, text)
        chain = self.made[key]
        if chain is None:
            return None
        events = held.between(chain.needs(windows), last, kinds)
        if events is not None:
            check_windows(spec, events, queries[0].query.name)
        found = chain.totals(events, windows, kinds)
        if found is None:
            self.made[key] = None
        elif events is not None:
            self.folded += len(events)
        return found


def _has_chain(query: AnalysedQuery, spec: WindowSpec) -> bool:
    """Whether the windows of a query overlap, and can be joined from panes."""
    return spec.slide < spec.within and path_of(query) is Path.BURSTS and maps_fold(query.automaton)
