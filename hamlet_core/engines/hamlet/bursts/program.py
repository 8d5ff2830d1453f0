"""Writes the tables by which bursts are folded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.engines.hamlet.bursts.layout import Layout, Operation
from hamlet_core.engines.hamlet.bursts.tables import (
    ATTRIBUTE_SUM,
    FOLLOWS_ITSELF,
    GROWTH,
    NO_BIT,
    PLAIN,
    SOURCE,
    SOURCES,
    SUM_FIRST,
    SUM_STOP,
    UNBOUND,
    WAITS,
    WIDTH,
    BurstProgram,
    Rows,
    flat,
    ragged,
    table,
)
from hamlet_core.engines.hamlet.input.frame import Predicates
from hamlet_core.pattern.automaton import Automaton


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
    share: bool,
) -> BurstProgram:
    """Tables for these accumulators; `windows[i]` is the window specification of accumulator i, `slots` by specification.

    `share`: equal totals of different accumulators are one.
    """
    return _program(Layout(accumulators, windows, slots, type_codes, predicates, share=share))


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
    growth_rows, growth_first, growth_of, sum_rows, sum_of = _coefficients(layout, types, wanted)
    for (form, operations), block in zip(forms, blocks, strict=True):
        code, bit, _, columns, weight, count, _, _ = form
        block[GROWTH] = growth_of[code, bit, max(weight, -1)]
        block[SOURCES], block[SOURCE], block[ATTRIBUTE_SUM] = count, len(sources), len(attribute_sums)
        block[PLAIN] = int(count == 1 and not block[WAITS] and block[WIDTH] == 1)
        attribute_sums += [sum_of.get((block[GROWTH], column), -1) for column in columns]
        sources += _gathered(layout, operations, block[WIDTH])
    block_rows = Rows()
    for own in by_type:
        block_rows.close(own)
    negation_rows, before = _negations(layout, types)
    return BurstProgram(
        block=table(block_rows.flat, 12),
        block_first=flat(block_rows.first),
        source=flat(sources),
        wait=table(layout.wait_rows, 3),
        attribute_sum=flat(attribute_sums),
        growth=table(growth_rows, 5),
        growth_first=flat(growth_first),
        sum=table(sum_rows, 2),
        kind=table(_kinds(layout, by_type, growth_rows, growth_first, negation_rows.first), 2),
        negation=table(negation_rows.flat, 7),
        negation_first=flat(negation_rows.first),
        before=flat(before),
        **_gap_tables(layout),
        **_clear_tables(layout),
        start=flat(layout.clean_start),
        slots=flat(layout.slots),
        **_accumulator_tables(layout),
        size=layout.size,
        patterns=len(layout.pattern_of),
        positions=len(layout.position_of),
    )


def _coefficients(
    layout: Layout, types: int, wanted: dict[tuple[int, int, int], dict[int, None]]
) -> tuple[list[Any], list[int], dict[tuple[int, int, int], int], list[Any], dict[tuple[int, int], int]]:
    """Growths by type with the first of each type and where each is, their sums and where each is."""
    growth_rows: list[tuple[int, ...]] = []
    sum_rows: list[tuple[int, int]] = []
    growth_of: dict[tuple[int, int, int], int] = {}
    sum_of: dict[tuple[int, int], int] = {}
    first = [0]
    for code in range(types):
        for key in sorted(key for key in wanted if key[0] == code):
            growth_of[key] = len(growth_rows)
            begin = len(sum_rows)
            for column in wanted[key]:
                sum_of[len(growth_rows), column] = len(sum_rows)
                sum_rows.append((column, layout.take(4)))
            growth_rows.append((key[1], key[2], layout.take(4), begin, len(sum_rows)))
        first.append(len(growth_rows))
    return growth_rows, first, growth_of, sum_rows, sum_of


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
    growth_rows: list[Any],
    first: list[int],
    negation_first: list[int],
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
    rows = []
    for code, own_blocks in enumerate(blocks):
        own_growth = growth_rows[first[code] : first[code + 1]]
        simple = len(own_growth) == 1 and own_growth[0][:2] == (NO_BIT, -1)
        simple = simple and own_growth[0][SUM_FIRST] == own_growth[0][SUM_STOP]
        steps = simple and all(block[PLAIN] for block in own_blocks)
        steps = steps and negation_first[code] == negation_first[code + 1]
        rows.append((int(names[code] not in crossing), int(steps)))
    return rows


def _negations(layout: Layout, types: int) -> tuple[Rows, list[int]]:
    """By type the positions of negated patterns, and the positions before them."""
    found: list[list[tuple[int, ...]]] = [[] for _ in range(types)]
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
                layout.position_of[place, index, position.index],
                layout.bit(place, position.alias),
                int(position.index in starts),
                first,
                len(before),
                pattern,
                int(position.index in ends),
            )
            found[layout.codes[position.type]].append(row)
    rows = Rows()
    for own in found:
        rows.close(own)
    return rows, before


def _gap_tables(layout: Layout) -> dict[str, Any]:
    patterns: list[list[int]] = [[] for _ in layout.pattern_of]
    named: list[list[int]] = []
    going_on: list[list[int]] = []
    cells: list[list[tuple[int, int, int]]] = []
    for (place, gap), number in layout.gap_of.items():
        named.append([layout.pattern_of[place, index] for index in sorted(gap)])
        going_on.append(layout.going_on(place, gap))
        cells.append(layout.gap_cells[number])
        for pattern in named[-1]:
            patterns[pattern].append(number)
    rows = Rows()
    for own in cells:
        rows.close(own)
    return {
        "gap": table(layout.gap_rows, 3),
        **ragged("pattern_gaps", patterns),
        **ragged("gap_patterns", named),
        **ragged("gap_positions", going_on),
        "gap_waits": table(rows.flat, 3),
        "gap_waits_first": flat(rows.first),
    }


def _clear_tables(layout: Layout) -> dict[str, Any]:
    """Numbers of a window that stand side by side are one run."""
    rows = Rows()
    for own, step in zip(layout.clear, layout.slots, strict=True):
        runs: list[list[int]] = []
        for address in sorted(own):
            if runs and address == runs[-1][0] + runs[-1][1] * step:
                runs[-1][1] += 1
            else:
                runs.append([address, 1])
        rows.close(runs)
    return {"clear": table(rows.flat, 2), "clear_first": flat(rows.first)}


def _accumulator_tables(layout: Layout) -> dict[str, Any]:
    rows: list[tuple[int, ...]] = []
    ends: list[tuple[int, int]] = []
    finish: list[list[tuple[int, int, int]]] = [[] for _ in layout.slots]
    places: list[int] = []
    out = 0
    for place, accumulator in enumerate(layout.accumulators):
        automaton = accumulator.automaton
        first = len(ends)
        for end in automaton.ends:
            counts = layout.addresses(place, end.position, end.gap, 0)
            if automaton.sides > 1:
                ends += [(count, automaton.positions[end.position].side) for count in counts]
                continue
            element = end.position if accumulator.elements > 1 else 0
            for component in range(accumulator.width):
                target = out + element * accumulator.width + component
                numbers = layout.addresses(place, end.position, end.gap, component)
                finish[layout.windows[place]] += [
                    (count, number, target) for count, number in zip(counts, numbers, strict=True)
                ]
        if automaton.sides > 1:
            rows.append((layout.windows[place], out, first, len(ends)))
        places.append(out)
        out += accumulator.elements * accumulator.width
    finishing = Rows()
    for own in finish:
        finishing.close(own)
    return {
        "accumulator": table(rows, 4),
        "end": table(ends, 2),
        "finish": table(finishing.flat, 3),
        "finish_first": flat(finishing.first),
        "out": flat(places),
        "out_width": out,
    }
