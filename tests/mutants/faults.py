"""Deliberate faults of meaning: each changes one thing that SEMANTICS.md says, by replacing a few words of source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """`old` stands exactly once in `file` (below hamlet_core) and becomes `new`; `appended` goes to the end."""

    name: str
    file: str
    old: str
    new: str
    appended: str = ""


GRETA, TWO_STEP = "engines/greta.py", "engines/two_step.py"
PARTITIONS, PREPARED = "engines/partitions.py", "engines/prepared.py"
AGGREGATES, ARITHMETIC = "algebra/aggregates.py", "algebra/arithmetic.py"
CONSTRUCTION = "pattern/construction.py"

FAULTS = (
    # --- time and windows
    Fault(
        "ties are chains (greta)",
        GRETA,
        "    for time, together in groupby(rows, key=times.__getitem__):",
        "    for time, together in ((times[row], (row,)) for row in rows):",
    ),
    Fault("ties are chains (two_step)", TWO_STEP, "if self.times[row] <= ", "if self.times[row] < "),
    Fault("a window contains its end", "windows.py", "start + self.within", "start + self.within + 1"),
    Fault("the latest window is forgotten", "windows.py", "age // self.slide + 1)", "age // self.slide)"),
    Fault(
        "windows before the epoch are rounded towards it",
        "windows.py",
        "range((age - self.within) // self.slide + 1, age // self.slide + 1)",
        "range(int((age - self.within) / self.slide) + 1, int(age / self.slide) + 1)",
    ),
    # --- trends
    Fault(
        "the start is counted twice",
        GRETA,
        "        for edge in self.node.incoming[position]:\n            total =",
        "        total = self.plus(total, total) if total is not None else None\n"
        "        for edge in self.node.incoming[position]:\n            total =",
    ),
    Fault(
        "a sequence bound in two ways counts twice (greta)",
        GRETA,
        "SetFold if prepared.analysed.ambiguous else PathFold",
        "PathFold",
    ),
    Fault(
        "a sequence bound in two ways counts twice (two_step)",
        TWO_STEP,
        "                yield Trend(trend.rows, complete)",
        "                for binding in complete:\n                    yield Trend(trend.rows, (binding,))",
    ),
    Fault(
        "Kleene does not repeat",
        CONSTRUCTION,
        "_union(body.follow, _crossing(body, body))",
        "_union(body.follow)",
    ),
    # --- predicates
    Fault(
        "an adjacent predicate constrains every pair into its NEXT alias",
        PREPARED,
        "pairs.get(names, [])",
        "[test for (_, into), tests in pairs.items() if into == names[1] for test in tests]",
    ),
    Fault(
        "an adjacent predicate does not reach across a NOT",
        PREPARED,
        "pairs.get(names, [])",
        "pairs.get(names, []) if not edge.gap else []",
    ),
    Fault(
        "NOT of unknown is true",
        "predicates/logic.py",
        "return None if truth is None else not truth",
        "return not truth",
    ),
    Fault("NULL belongs to a partition of its own", PARTITIONS, "if None not in agreed:", "if True:"),
    Fault(
        "GROUP-BY NULL is dropped",
        PARTITIONS,
        "if None not in agreed:",
        "if None not in agreed and None not in [values[row] for values in grouping]:",
    ),
    # --- negation
    Fault(
        "a NOT sees the time of the event before it",
        GRETA,
        "self.back[0][0] < since",
        "self.back[0][0] <= since",
    ),
    Fault(
        "a NOT sees the time of the event after it",
        GRETA,
        "        self.step(time, rows)\n        for negation in self.negations:\n            negation.advance(time, rows)",
        "        for negation in self.negations:\n            negation.advance(time, rows)\n        self.step(time, rows)",
    ),
    Fault(
        "a negated sequence may begin before the gap",
        TWO_STEP,
        "(after is None or start > after)",
        "(after is None or end > after)",
    ),
    Fault(
        "the earliest match of a NOT decides, not the latest",
        AGGREGATES,
        "return max(left, right)",
        "return min(left, right)",
    ),
    Fault(
        "a NOT counts in the whole group, not in the partition",
        PARTITIONS,
        "    for members in found.values():\n",
        "    for members in _mixed(found, len(equivalence), stream):\n",
        """

def _mixed(found: Any, shared: int, stream: Stream) -> Any:
    for key, members in found.items():
        others = [row for other, rows in found.items() if other[shared:] == key[shared:] for row in rows]
        strange = [row for row in others if row not in members and stream.types[row] in ("N", "M")]
        yield sorted([*members, *strange])
""",
    ),
    Fault(
        "a trailing NOT looks beyond the end of the window",
        PARTITIONS,
        "evaluate(prepared, partition.rows[first:last])",
        "evaluate(prepared, partition.rows[first:last] + "
        "tuple(row for row in partition.rows[last:] if not prepared.root.bindable[row]))",
    ),
    Fault(
        "a leading NOT looks before the start of the window",
        PARTITIONS,
        "evaluate(prepared, partition.rows[first:last])",
        "evaluate(prepared, tuple(row for row in partition.rows[:first] if not prepared.root.bindable[row]) + "
        "partition.rows[first:last])",
    ),
    Fault(
        "a NOT before an absent optional part is forgotten",
        CONSTRUCTION,
        "_through(right.empty, left.last)",
        "left.last if right.empty else {}",
    ),
    # --- aggregates
    Fault("AVG divides by COUNT(*)", AGGREGATES, "present = by_part[", "present = trends or by_part["),
    Fault(
        "AVG counts NULLs",
        AGGREGATES,
        "if value is not None:\n",
        "if value is not None or role is Role.PRESENT:\n",
    ),
    Fault(
        "SUM ignores multiplicity",
        AGGREGATES,
        "return self.arithmetic.multiply(count, self.arithmetic.embed(value, unit))",
        "return self.arithmetic.embed(value, unit)",
    ),
    Fault(
        "MIN over all events, in a trend or not",
        GRETA,
        "            element = self.finished(position, gap)",
        "            element = _over_all(self, self.finished(position, gap))",
        """

def _over_all(fold: PathFold, element: Element) -> Element:
    for other in fold.running:
        if element is not None and other is not None and hasattr(fold.algebra, "join"):
            joined = fold.algebra.plus(element, other)
            element = (element[0], *(new if "<lambda>" in join.__name__ else old
                       for join, old, new in zip(fold.algebra.join, element[1:], joined[1:])))
    return element
""",
    ),
    Fault(
        "a trend without such an event has no MIN",
        AGGREGATES,
        "y if x is None else x if y is None else min(x, y)",
        "None if x is None or y is None else min(x, y)",
    ),
    Fault(
        "AND counts a trend with itself",
        PARTITIONS,
        "arithmetic.choose_two(both)",
        "arithmetic.multiply(both, both)",
    ),
    Fault("halves modulo p are wrong", ARITHMETIC, "_HALF = (PRIME + 1) // 2", "_HALF = PRIME // 2"),
)
