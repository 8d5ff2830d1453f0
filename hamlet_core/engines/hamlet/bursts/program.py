"""Writes the tables by which bursts are folded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.engines.hamlet.bursts.layout import Layout, Operation
from hamlet_core.engines.hamlet.bursts.tables import (
    ATTRIBUTE_SUM,
    BLOCK_FIELDS,
    CELL_FIELDS,
    CLEAR_FIELDS,
    END_FIELDS,
    FINISH_FIELDS,
    FOLLOWS_ITSELF,
    GAP_FIELDS,
    GROWTH,
    GROWTH_FIELDS,
    KIND_FIELDS,
    NEGATION_FIELDS,
    NO_BIT,
    PLAIN,
    S_FIELDS,
    SOURCE,
    SOURCES,
    SUM_FIELDS,
    SUM_FIRST,
    SUM_STOP,
    UNBOUND,
    WAIT_FIELDS,
    WAITS,
    WIDTH,
    BurstProgram,
)
from hamlet_core.engines.hamlet.input.frame import Predicates
from hamlet_core.engines.hamlet.jit.packed import Rows, rows, rows_by, table
from hamlet_core.pattern.automaton import START, Automaton
from hamlet_core.sharing.options import Sharing


def bursts_fold(automaton: Automaton) -> bool:
    """Whether an automaton without conditions is one that bursts can fold: no NOT inside a NOT."""
    return not any(negation.negations for negation in automaton.negations)


def compile_bursts(
    accumulators: Sequence[Accumulator],
    windows: Sequence[int],
    slots: Sequence[int],
    type_codes: dict[str, int],
    predicates: Predicates,
    *,
    sharing: Sharing,
) -> BurstProgram:
    """Tables for these accumulators; `windows[i]` is the window specification of accumulator i, `slots` by specification.

    `sharing`: which equal totals of different accumulators are one.
    """
    return _program(Layout(accumulators, windows, slots, type_codes, predicates, sharing=sharing))


def _program(layout: Layout) -> BurstProgram:
    """Write every table."""
    types = len(layout.codes)
    forms = sorted(layout.operations().items(), key=lambda item: item[0][0])
    blocks = layout.lay_out(forms)
    by_type: list[list[list[int]]] = [[] for _ in range(types)]
    sources: list[int] = []
    attribute_sums: list[int] = []
    wanted: dict[tuple[int, int, int], dict[int, None]] = defaultdict(dict)
    for (form, _), block in zip(forms, blocks, strict=True):
        code, bit, follows, columns, weight, _, _, _ = form
        wanted[code, bit, max(weight, -1)].update(
            dict.fromkeys(column for column in columns if column != UNBOUND)
        )
        by_type[code].append(block)
        block[FOLLOWS_ITSELF] = int(follows)
    growth, growth_of, sum_rows, sum_of = _coefficients(layout, types, wanted)
    for (form, operations), block in zip(forms, blocks, strict=True):
        code, bit, _, columns, weight, count, _, _ = form
        block[GROWTH] = growth_of[code, bit, max(weight, -1)]
        block[SOURCES], block[SOURCE], block[ATTRIBUTE_SUM] = count, len(sources), len(attribute_sums)
        block[PLAIN] = int(count == 1 and not block[WAITS] and block[WIDTH] == 1)
        attribute_sums += [sum_of.get((block[GROWTH], column), -1) for column in columns]
        sources += _gathered(layout, operations, block[WIDTH])
    negation, before = _negations(layout, types)
    return BurstProgram(
        block=rows_by(by_type, BLOCK_FIELDS),
        source=_numbers(sources),
        wait=table(layout.wait_rows, WAIT_FIELDS),
        attribute_sum=_numbers(attribute_sums),
        growth=growth,
        sum=table(sum_rows, SUM_FIELDS),
        kind=table(_kinds(layout, by_type, growth, negation), KIND_FIELDS),
        negation=negation,
        before=_numbers(before),
        **_gap_tables(layout),
        clear=rows_by(list(map(_runs, layout.clear, layout.slots)), CLEAR_FIELDS),
        start=_numbers(layout.clean_start),
        slots=_numbers(layout.slots),
        **_accumulator_tables(layout),
        size=layout.size,
        patterns=len(layout.pattern_of),
        positions=len(layout.position_of),
    )


def _numbers(values: Sequence[int]) -> Any:
    return np.array(values, np.int64)


def _coefficients(
    layout: Layout, types: int, wanted: dict[tuple[int, int, int], dict[int, None]]
) -> tuple[Rows, dict[tuple[int, int, int], int], list[Any], dict[tuple[int, int], int]]:
    """Growths by type and where each is, their sums and where each is."""
    growths: list[tuple[int, ...]] = []
    sum_rows: list[tuple[int, int]] = []
    growth_of: dict[tuple[int, int, int], int] = {}
    sum_of: dict[tuple[int, int], int] = {}
    for key in sorted(wanted):
        growth_of[key] = len(growths)
        begin = len(sum_rows)
        for column in wanted[key]:
            sum_of[len(growths), column] = len(sum_rows)
            sum_rows.append((column, layout.take(4)))
        growths.append((*key, layout.take(4), begin, len(sum_rows)))
    return rows(types, growths, GROWTH_FIELDS), growth_of, sum_rows, sum_of


def _gathered(layout: Layout, operations: list[Operation], width: int) -> list[int]:
    """Addresses in the order [source, component, lane]."""
    gathered = []
    for component in range(width):
        by_operation = [
            [
                (address, source is None and component > 0)
                for source, gap in layout.ways(operation.accumulator, operation.position)
                for address in layout.addresses(operation.accumulator, source, gap, component)
            ]
            for operation in operations
        ]
        gathered.append(
            [
                [
                    address if fixed else address + slot
                    for operation, row in zip(operations, by_operation, strict=True)
                    for address, fixed in row[place : place + 1]
                    for slot in range(layout.slots[layout.windows[operation.accumulator]])
                ]
                for place in range(len(by_operation[0]))
            ]
        )
    places = range(len(gathered[0]))
    return [
        address for place in places for component in range(width) for address in gathered[component][place]
    ]


def _kinds(
    layout: Layout,
    blocks: list[list[list[int]]],
    growth: Rows,
    negated: Rows,
) -> list[tuple[int, int]]:
    """By type: whether a burst may be folded as one, and whether it can be stepped through with inputs at hand."""
    crossing = set()
    for accumulator in layout.accumulators:
        automaton = accumulator.automaton
        own = {position.type for position in automaton.positions}
        for negation in automaton.negations:
            crossing |= own & negation.types()
        for edge in automaton.edges:
            source, target = automaton.positions[edge.source], automaton.positions[edge.target]
            if source.type == target.type and source is not target:
                crossing.add(source.type)
    names = {code: name for name, code in layout.codes.items()}
    kinds = []
    for code, own_blocks in enumerate(blocks):
        own_growth = growth.of(code).tolist()
        simple = len(own_growth) == 1 and own_growth[0][:2] == [NO_BIT, -1]
        simple = simple and own_growth[0][SUM_FIRST] == own_growth[0][SUM_STOP]
        steps = simple and all(block[PLAIN] for block in own_blocks) and not len(negated.of(code))
        kinds.append((int(names[code] not in crossing), int(steps)))
    return kinds


def _negations(layout: Layout, types: int) -> tuple[Rows, list[int]]:
    """By type the positions of negated patterns, and the positions before them."""
    found: list[tuple[int, ...]] = []
    before: list[int] = []
    for (place, index), pattern in layout.pattern_of.items():
        negation = layout.accumulators[place].automaton.negations[index]
        starts = {start.position for start in negation.starts}
        ends = {end.position for end in negation.ends}
        for position in negation.positions:
            first = len(before)
            before += [
                layout.position_of[place, index, edge.source]
                for edge in negation.edges
                if edge.target == position.index
            ]
            row = (
                layout.codes[position.type],
                layout.position_of[place, index, position.index],
                layout.bit(place, position.alias),
                int(position.index in starts),
                first,
                len(before),
                pattern,
                int(position.index in ends),
            )
            found.append(row)
    return rows(types, found, NEGATION_FIELDS), before


def _gap_tables(layout: Layout) -> dict[str, Any]:
    named: list[tuple[int, int]] = []
    going_on: list[tuple[int, int]] = []
    cells: list[tuple[int, ...]] = []
    for (place, gap), number in layout.gap_of.items():
        named += [(number, layout.pattern_of[place, index]) for index in sorted(gap)]
        going_on += [(number, position) for position in layout.going_on(place, gap)]
        cells += [(number, *cell) for cell in layout.gap_cells[number]]
    gaps = len(layout.gap_rows)
    return {
        "gap": table(layout.gap_rows, GAP_FIELDS),
        "pattern_gaps": rows(len(layout.pattern_of), [(pattern, gap) for gap, pattern in named], 1),
        "gap_patterns": rows(gaps, named, 1),
        "gap_positions": rows(gaps, going_on, 1),
        "gap_waits": rows(gaps, cells, CELL_FIELDS),
    }


def _runs(addresses: Sequence[int], step: int) -> list[tuple[int, int]]:
    """Numbers of a window, `step` apart where they stand side by side, as runs (first, how many)."""
    runs: list[tuple[int, int]] = []
    for address in sorted(addresses):
        first, count = runs[-1] if runs else (address, 0)
        if runs and address == first + count * step:
            runs[-1] = first, count + 1
        else:
            runs.append((address, 1))
    return runs


def _accumulator_tables(layout: Layout) -> dict[str, Any]:
    sided: list[tuple[int, ...]] = []
    ends: list[tuple[int, int]] = []
    finish: list[tuple[int, ...]] = []
    places: list[int] = []
    out = 0
    for place, accumulator in enumerate(layout.accumulators):
        automaton = accumulator.automaton
        first = len(ends)
        for number, end in enumerate(automaton.ends):
            ended = None if end.position == START else end.position
            counts = layout.addresses(place, ended, end.gap, 0)
            if automaton.sides > 1:
                ends += [(count, automaton.positions[end.position].side) for count in counts]
                continue
            element = number if accumulator.instead is not None else 0
            for component in range(accumulator.width):
                target = out + element * accumulator.width + component
                numbers = layout.addresses(place, ended, end.gap, component)
                finish += [
                    (layout.windows[place], count, address, target)
                    for count, address in zip(counts, numbers, strict=True)
                ]
        if automaton.sides > 1:
            sided.append((layout.windows[place], out, first, len(ends)))
        places.append(out)
        out += accumulator.elements * accumulator.width
    return {
        "accumulator": table(sided, S_FIELDS),
        "end": table(ends, END_FIELDS),
        "finish": rows(len(layout.slots), finish, FINISH_FIELDS),
        "out": _numbers(places),
        "out_width": out,
    }
