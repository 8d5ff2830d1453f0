"""Strands without adjacent conditions as plain tables: which lanes an event's type moves, from where, by how much.

A *cell* is a running total: of a position, or of what waits at a gap behind it. It has a number per component, and
each number a lane per slot (open window). Positions of one type and one form lie side by side in a *block*, so that a
burst moves the block in loops over contiguous lanes. Within a burst of one type every lane of a block moves by the
same *coefficients* of the burst, which only its events decide: growth (SEMANTICS 3: n = start + all that may
precede) sums to `grown = product of (1 + ties) - 1` where a position follows itself, to `added = number of events`
where it does not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from hamlet_core.engines.hamlet.frame import Predicates
from hamlet_core.engines.hamlet.strands import Strand
from hamlet_core.pattern.automaton import Automaton, Gap

NO_BIT = -1
UNBOUND = -2
"""Instead of a column: the position does not bind the alias of this weight or rider."""

# Fields of `BurstProgram.block`.
SIZE, WIDTH, TOTAL, DELTA, FOLLOWS_ITSELF, GROWTH, SOURCES, SOURCE, WAITS, WAIT, RIDER, PLAIN = range(12)
# Fields of `BurstProgram.growth`; its numbers are grown, added and a temporary, one after the other.
BIT, WEIGHT, NUMBERS, SUM_FIRST, SUM_STOP = range(5)
# Fields of `BurstProgram.sum`; its numbers likewise.
VALUE, SUM_NUMBERS = range(2)
# Fields of `BurstProgram.kind`, one row per type.
BURSTS, STEPS = range(2)
# Fields of `BurstProgram.negation`: one event type at one position of a negated pattern.
N_POSITION, N_BIT, N_STARTS, N_BEFORE, N_BEFORE_STOP, N_PATTERN, N_ENDS = range(7)
# Fields of `BurstProgram.gap`.
GAP_BUCKETS, GAP_START, GAP_WINDOWS = range(3)
# Fields of `BurstProgram.wait`.
WAIT_BASE, WAIT_GAP, WAIT_STRIDE = range(3)
# Fields of `BurstProgram.gap_waits`: the cells that wait at a gap, their first bucket.
CELL, CELL_SLOTS, CELL_STRIDE = range(3)
# Fields of `BurstProgram.strand`.
S_WINDOWS, S_OUT, S_END, S_END_STOP = range(4)


class BurstProgram(NamedTuple):
    """Tables of one class of strands. Ranges `x_first[i]:x_first[i + 1]` are what belongs to i."""

    block: Any
    block_first: Any
    """By type."""
    source: Any
    """Addresses to gather, [source, component, lane] for each block."""
    wait: Any
    rider: Any
    """By block: for each component beyond the first the index of its sum, or -1."""
    growth: Any
    growth_first: Any
    """By type."""
    sum: Any
    kind: Any
    negation: Any
    negation_first: Any
    """By type."""
    before: Any
    """Positions that precede a position of a negated pattern."""
    gap: Any
    pattern_gaps: Any
    pattern_gaps_first: Any
    """By negated pattern: the gaps that name it."""
    gap_patterns: Any
    gap_patterns_first: Any
    gap_positions: Any
    """By gap: the positions of its patterns that a match can go on from."""
    gap_positions_first: Any
    gap_waits: Any
    gap_waits_first: Any
    clear: Any
    """By window specification: runs (address of the first slot, how many) of the numbers that its windows own."""
    clear_first: Any
    start: Any
    """By window specification: the address of the starts that no gap closes."""
    slots: Any
    strand: Any
    """The strands of AND."""
    end: Any
    """Of AND: the address of the first slot, and the side."""
    finish: Any
    """By window specification: (count, number, where in a row of results it is added) of the other strands' ends."""
    finish_first: Any
    out: Any
    """By strand: where its elements stand in a row of results."""
    out_width: Any
    """Numbers per row of results."""
    size: Any
    """Numbers in the arena, results not included; addresses count from the end of the results."""
    patterns: Any
    """How many negated patterns there are."""
    positions: Any
    """How many positions they have."""


@dataclass(frozen=True, slots=True)
class _Operation:
    """A position of a strand."""

    strand: int
    position: int
    gaps: tuple[Gap, ...]
    """The gaps behind which its total waits."""


@dataclass(slots=True)
class _Rows:
    """Ragged rows in one flat list."""

    flat: list[Any] = field(default_factory=list)
    first: list[int] = field(default_factory=lambda: [0])

    def close(self, items: Iterable[Any]) -> None:
        self.flat.extend(items)
        self.first.append(len(self.flat))


def bursts_fold(automaton: Automaton) -> bool:
    """Whether an automaton without conditions is one that bursts can fold: no NOT inside a NOT."""
    return not any(negation.negations for negation in automaton.negations)


def compile_bursts(
    strands: Sequence[Strand],
    windows: Sequence[int],
    slots: Sequence[int],
    type_codes: dict[str, int],
    predicates: Predicates,
) -> BurstProgram:
    """Tables for these strands; `windows[i]` is the window specification of strand i, `slots` by specification."""
    return _Compiler(strands, windows, slots, type_codes, predicates).program()


class _Compiler:
    """Lays lanes out, then writes the tables; mutable while it does."""

    def __init__(
        self,
        strands: Sequence[Strand],
        windows: Sequence[int],
        slots: Sequence[int],
        type_codes: dict[str, int],
        predicates: Predicates,
    ) -> None:
        self.strands = strands
        self.windows = windows
        self.slots = slots
        self.codes = type_codes
        self.predicates = predicates
        self.size = 1
        self.out: list[int] = []
        self.nothing = 0  # the number at this address stays 0
        self.clear: list[list[int]] = [[] for _ in slots]
        self.clean_start = [self.vector(window) for window in range(len(slots))]
        self.pattern_of: dict[tuple[int, int], int] = {}
        self.position_of: dict[tuple[int, int, int], int] = {}
        for place, strand in enumerate(strands):
            for index, negation in enumerate(strand.automaton.negations):
                self.pattern_of[place, index] = len(self.pattern_of)
                for position in negation.positions:
                    self.position_of[place, index, position.index] = len(self.position_of)
        self.gap_of: dict[tuple[int, Gap], int] = {}
        self.gap_rows: list[tuple[int, int, int]] = []
        for place, strand in enumerate(strands):
            self.number_gaps(place, strand.automaton)
        self.growth_of: dict[tuple[int, int, int], int] = {}
        self.sum_of: dict[tuple[int, int], int] = {}
        self.total_of: dict[tuple[int, int, int], int] = {}
        self.waiting_of: dict[tuple[int, int, Gap, int, int], int] = {}

    # --- addresses ----------------------------------------------------------------------------

    def take(self, count: int) -> int:
        base, self.size = self.size, self.size + count
        return base

    def vector(self, window: int) -> int:
        """A number of every slot, cleared when its window closes."""
        base = self.take(self.slots[window])
        self.clear[window].append(base)
        return base

    def number_gaps(self, place: int, automaton: Automaton) -> None:
        borders = (*automaton.starts, *automaton.ends)
        named = dict.fromkeys(item.gap for item in (*automaton.edges, *borders) if item.gap)
        for gap in named:
            self.gap_of[place, gap] = len(self.gap_rows)
            starts = any(border.gap == gap for border in automaton.starts)
            start = self.vector(self.windows[place]) if starts else -1
            self.gap_rows.append((1 + len(self.going_on(place, gap)), start, self.windows[place]))

    def going_on(self, place: int, gap: Gap) -> list[int]:
        """Positions of the gap's patterns that a match can go on from: their latest starts cut what waits."""
        negations = self.strands[place].automaton.negations
        return [
            self.position_of[place, index, position]
            for index in sorted(gap)
            for position in sorted({edge.source for edge in negations[index].edges})
        ]

    # --- blocks -------------------------------------------------------------------------------

    def bit(self, place: int, alias: str) -> int:
        return self.predicates.bit.get((self.strands[place].query, alias), NO_BIT)

    def operations(self) -> dict[tuple[Any, ...], list[_Operation]]:
        """Positions by the form of their block."""
        found: dict[tuple[Any, ...], list[_Operation]] = defaultdict(list)
        for place, strand in enumerate(self.strands):
            automaton = strand.automaton
            for position in automaton.positions:
                waits = [edge.gap for edge in automaton.edges if edge.source == position.index and edge.gap]
                waits += [end.gap for end in automaton.ends if end.position == position.index and end.gap]
                gaps = tuple(dict.fromkeys(waits))
                buckets = max((self.gap_rows[self.gap_of[place, gap]][0] for gap in gaps), default=1)
                columns = tuple(
                    rider.column if rider.alias == position.alias else UNBOUND for rider in strand.riders
                )
                weight = UNBOUND
                if strand.weight is not None and strand.weight.alias == position.alias:
                    weight = strand.weight.column
                form = (
                    self.codes[position.type],
                    self.bit(place, position.alias),
                    any(e.source == e.target == position.index for e in automaton.edges),
                    columns,
                    weight,
                    self.number_of_sources(place, position.index),
                    len(gaps),
                    (place, position.index) if buckets > 1 else None,
                )
                found[form].append(_Operation(place, position.index, gaps))
        return found

    def ways(self, place: int, target: int) -> list[tuple[int | None, Gap]]:
        """(source position, or None for a start; gap) of everything that flows into a position but itself."""
        automaton = self.strands[place].automaton
        starts: list[tuple[int | None, Gap]] = [
            (None, start.gap) for start in automaton.starts if start.position == target
        ]
        return starts + [
            (edge.source, edge.gap)
            for edge in automaton.edges
            if edge.target == target and edge.source != target
        ]

    def buckets(self, place: int, gap: Gap) -> int:
        return self.gap_rows[self.gap_of[place, gap]][0] if gap else 1

    def number_of_sources(self, place: int, target: int) -> int:
        return sum(
            1 if source is None else self.buckets(place, gap) for source, gap in self.ways(place, target)
        )

    def addresses(self, place: int, source: int | None, gap: Gap, component: int) -> list[int]:
        """First slots of the numbers that a way reads."""
        if source is None:
            if component:
                return [self.nothing]
            return [self.gap_rows[self.gap_of[place, gap]][1] if gap else self.clean_start[self.windows[place]]]
        if not gap:
            return [self.total_of[place, source, component]]
        buckets = range(self.buckets(place, gap))
        return [self.waiting_of[place, source, gap, bucket, component] for bucket in buckets]

    def lay_out(self, forms: Iterable[tuple[tuple[Any, ...], list[_Operation]]]) -> list[list[int]]:
        """Give every cell its addresses; the blocks, their sources, riders and growth not yet filled in."""
        blocks = []
        for _, operations in forms:
            width = self.strands[operations[0].strand].width
            lanes = [self.slots[self.windows[operation.strand]] for operation in operations]
            size = sum(lanes)
            total, delta = self.take(size * width), self.take(size * width)
            offsets = np.cumsum([0, *lanes]).tolist()
            for operation, offset in zip(operations, offsets, strict=False):
                for component in range(width):
                    base = total + component * size + offset
                    self.total_of[operation.strand, operation.position, component] = base
                    self.clear[self.windows[operation.strand]].append(base)
            first_wait = len(self.wait_rows)
            for place, _ in enumerate(operations[0].gaps):
                buckets = self.buckets(operations[0].strand, operations[0].gaps[place])
                base = self.take(size * width * buckets)
                self.lay_out_waiting(operations, place, base, (size, width, buckets), offsets)
            waits = len(operations[0].gaps)
            blocks.append([size, width, total, delta, 0, 0, 0, 0, waits, first_wait, 0, 0])
        return blocks

    def lay_out_waiting(
        self,
        operations: list[_Operation],
        place: int,
        base: int,
        shape: tuple[int, int, int],
        offsets: list[int],
    ) -> None:
        size, width, buckets = shape
        # All operations of a block with several buckets are one; with one bucket the gap does not matter here.
        gap = self.gap_of[operations[0].strand, operations[0].gaps[place]]
        self.wait_rows.append((base, gap if buckets > 1 else -1, size * width))
        for operation, offset in zip(operations, offsets, strict=False):
            strand, own = operation.strand, operation.gaps[place]
            for bucket in range(buckets):
                for component in range(width):
                    address = base + (bucket * width + component) * size + offset
                    self.waiting_of[strand, operation.position, own, bucket, component] = address
                    self.clear[self.windows[strand]].append(address)
                    if bucket == 0:
                        cell = (address, self.slots[self.windows[strand]], size * width)
                        self.gap_cells[self.gap_of[strand, own]].append(cell)

    # --- coefficients -------------------------------------------------------------------------

    def program(self) -> BurstProgram:
        """Write every table."""
        types = len(self.codes)
        self.wait_rows: list[tuple[int, int, int]] = []
        self.gap_cells: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        forms = sorted(self.operations().items(), key=lambda item: item[0][0])
        blocks = self.lay_out(forms)
        by_type: list[list[list[int]]] = [[] for _ in range(types)]
        sources: list[int] = []
        riders: list[int] = []
        wanted: dict[tuple[int, int, int], dict[int, None]] = defaultdict(dict)
        for (form, _), block in zip(forms, blocks, strict=True):
            code, bit, follows, columns, weight, _, _, _ = form
            wanted[code, bit, max(weight, -1)].update(
                dict.fromkeys(column for column in columns if column != UNBOUND)
            )
            by_type[code].append(block)
            block[FOLLOWS_ITSELF] = int(follows)
        growth_rows, growth_first, sum_rows, sum_of = self.coefficients(types, wanted)
        for (form, operations), block in zip(forms, blocks, strict=True):
            code, bit, _, columns, weight, count, _, _ = form
            block[GROWTH] = self.growth_of[code, bit, max(weight, -1)]
            block[SOURCES], block[SOURCE], block[RIDER] = count, len(sources), len(riders)
            block[PLAIN] = int(count == 1 and not block[WAITS] and block[WIDTH] == 1)
            riders += [sum_of.get((block[GROWTH], column), -1) for column in columns]
            sources += self.gathered(operations, block[WIDTH])
        block_rows = _Rows()
        for own in by_type:
            block_rows.close(own)
        negation_rows, before = self.negations(types)
        return BurstProgram(
            block=_table(block_rows.flat, 12),
            block_first=_flat(block_rows.first),
            source=_flat(sources),
            wait=_table(self.wait_rows, 3),
            rider=_flat(riders),
            growth=_table(growth_rows, 5),
            growth_first=_flat(growth_first),
            sum=_table(sum_rows, 2),
            kind=_table(self.kinds(by_type, growth_rows, growth_first, negation_rows.first), 2),
            negation=_table(negation_rows.flat, 7),
            negation_first=_flat(negation_rows.first),
            before=_flat(before),
            **self.gap_tables(),
            **self.clear_tables(),
            start=_flat(self.clean_start),
            slots=_flat(self.slots),
            **self.strand_tables(),
            size=self.size,
            patterns=len(self.pattern_of),
            positions=len(self.position_of),
        )

    def coefficients(
        self, types: int, wanted: dict[tuple[int, int, int], dict[int, None]]
    ) -> tuple[list[Any], list[int], list[Any], dict[tuple[int, int], int]]:
        growth_rows: list[tuple[int, ...]] = []
        sum_rows: list[tuple[int, int]] = []
        sum_of: dict[tuple[int, int], int] = {}
        first = [0]
        for code in range(types):
            for key in sorted(key for key in wanted if key[0] == code):
                self.growth_of[key] = len(growth_rows)
                begin = len(sum_rows)
                for column in wanted[key]:
                    sum_of[len(growth_rows), column] = len(sum_rows)
                    sum_rows.append((column, self.take(4)))
                growth_rows.append((key[1], key[2], self.take(4), begin, len(sum_rows)))
            first.append(len(growth_rows))
        return growth_rows, first, sum_rows, sum_of

    def gathered(self, operations: list[_Operation], width: int) -> list[int]:
        """Addresses in the order [source, component, lane]."""
        table = []
        for component in range(width):
            by_operation = [
                [
                    (address, source is None and component > 0)
                    for source, gap in self.ways(operation.strand, operation.position)
                    for address in self.addresses(operation.strand, source, gap, component)
                ]
                for operation in operations
            ]
            table.append(
                [
                    [
                        address if fixed else address + slot
                        for operation, row in zip(operations, by_operation, strict=True)
                        for address, fixed in row[place : place + 1]
                        for slot in range(self.slots[self.windows[operation.strand]])
                    ]
                    for place in range(len(by_operation[0]))
                ]
            )
        places = range(len(table[0]))
        return [address for place in places for component in range(width) for address in table[component][place]]

    def kinds(
        self,
        blocks: list[list[list[int]]],
        growth_rows: list[Any],
        first: list[int],
        negation_first: list[int],
    ) -> list[tuple[int, int]]:
        """By type: whether a burst may be folded as one, and whether it can be stepped through with inputs at hand."""
        crossing = set()
        for strand in self.strands:
            automaton = strand.automaton
            own = {position.type for position in automaton.positions}
            for negation in automaton.negations:
                crossing |= own & negation.types()
            for edge in automaton.edges:
                source, target = automaton.positions[edge.source], automaton.positions[edge.target]
                if source.type == target.type and source is not target:
                    crossing.add(source.type)
        names = {code: name for name, code in self.codes.items()}
        rows = []
        for code, own_blocks in enumerate(blocks):
            own_growth = growth_rows[first[code] : first[code + 1]]
            simple = len(own_growth) == 1 and own_growth[0][:2] == (NO_BIT, -1)
            simple = simple and own_growth[0][SUM_FIRST] == own_growth[0][SUM_STOP]
            steps = simple and all(block[PLAIN] for block in own_blocks)
            steps = steps and negation_first[code] == negation_first[code + 1]
            rows.append((int(names[code] not in crossing), int(steps)))
        return rows

    # --- negation, windows, ends --------------------------------------------------------------

    def negations(self, types: int) -> tuple[_Rows, list[int]]:
        found: list[list[tuple[int, ...]]] = [[] for _ in range(types)]
        before: list[int] = []
        for (place, index), pattern in self.pattern_of.items():
            negation = self.strands[place].automaton.negations[index]
            starts = {start.position for start in negation.starts}
            ends = {end.position for end in negation.ends}
            for position in negation.positions:
                first = len(before)
                before += [
                    self.position_of[place, index, edge.source]
                    for edge in negation.edges
                    if edge.target == position.index
                ]
                row = (
                    self.position_of[place, index, position.index],
                    self.bit(place, position.alias),
                    int(position.index in starts),
                    first,
                    len(before),
                    pattern,
                    int(position.index in ends),
                )
                found[self.codes[position.type]].append(row)
        rows = _Rows()
        for own in found:
            rows.close(own)
        return rows, before

    def gap_tables(self) -> dict[str, Any]:
        patterns: list[list[int]] = [[] for _ in self.pattern_of]
        named: list[list[int]] = []
        going_on: list[list[int]] = []
        cells: list[list[tuple[int, int, int]]] = []
        for (place, gap), number in self.gap_of.items():
            named.append([self.pattern_of[place, index] for index in sorted(gap)])
            going_on.append(self.going_on(place, gap))
            cells.append(self.gap_cells[number])
            for pattern in named[-1]:
                patterns[pattern].append(number)
        rows = _Rows()
        for own in cells:
            rows.close(own)
        return {
            "gap": _table(self.gap_rows, 3),
            **_ragged("pattern_gaps", patterns),
            **_ragged("gap_patterns", named),
            **_ragged("gap_positions", going_on),
            "gap_waits": _table(rows.flat, 3),
            "gap_waits_first": _flat(rows.first),
        }

    def clear_tables(self) -> dict[str, Any]:
        """Numbers of a window that stand side by side are one run."""
        rows = _Rows()
        for own, step in zip(self.clear, self.slots, strict=True):
            runs: list[list[int]] = []
            for address in sorted(own):
                if runs and address == runs[-1][0] + runs[-1][1] * step:
                    runs[-1][1] += 1
                else:
                    runs.append([address, 1])
            rows.close(runs)
        return {"clear": _table(rows.flat, 2), "clear_first": _flat(rows.first)}

    def strand_tables(self) -> dict[str, Any]:
        rows: list[tuple[int, ...]] = []
        ends: list[tuple[int, int]] = []
        finish: list[list[tuple[int, int, int]]] = [[] for _ in self.slots]
        out = 0
        for place, strand in enumerate(self.strands):
            automaton = strand.automaton
            first = len(ends)
            for end in automaton.ends:
                counts = self.addresses(place, end.position, end.gap, 0)
                if automaton.sides > 1:
                    ends += [(count, automaton.positions[end.position].side) for count in counts]
                    continue
                element = end.position if strand.elements > 1 else 0
                for component in range(strand.width):
                    target = out + element * strand.width + component
                    numbers = self.addresses(place, end.position, end.gap, component)
                    finish[self.windows[place]] += [
                        (count, number, target) for count, number in zip(counts, numbers, strict=True)
                    ]
            if automaton.sides > 1:
                rows.append((self.windows[place], out, first, len(ends)))
            self.out.append(out)
            out += strand.elements * strand.width
        finishing = _Rows()
        for own in finish:
            finishing.close(own)
        return {
            "strand": _table(rows, 4),
            "end": _table(ends, 2),
            "finish": _table(finishing.flat, 3),
            "finish_first": _flat(finishing.first),
            "out": _flat(self.out),
            "out_width": out,
        }


def _flat(values: Iterable[int]) -> Any:
    return np.array(list(values), np.int64)


def _table(rows: Sequence[Sequence[int]], columns: int) -> Any:
    return np.array(rows, np.int64).reshape(len(rows), columns)


def _ragged(name: str, rows: Iterable[Iterable[int]]) -> dict[str, Any]:
    made = _Rows()
    for row in rows:
        made.close(row)
    return {name: _flat(made.flat), f"{name}_first": _flat(made.first)}
