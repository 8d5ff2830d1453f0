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
ASEQ, SHARON, GLORIA = "engines/aseq.py", "engines/sharon.py", "engines/gloria.py"
STEPS, SHARED_TWO_STEP = "engines/steps.py", "engines/shared_two_step.py"
STEPS_OF_TEMPLATES, PLANNING = "template/steps.py", "engines/hamlet/planning.py"
EQUAL_PLACES, LAYOUT = "engines/hamlet/program/equal_states.py", "engines/hamlet/bursts/layout.py"
PARTITIONS, PREPARED = "engines/partitions.py", "engines/prepared.py"
AGGREGATES, ARITHMETIC = "algebra/aggregates.py", "algebra/arithmetic.py"
CONSTRUCTION = "pattern/construction.py"
BURSTS, PROGRAM = "engines/hamlet/bursts/kernel.py", "engines/hamlet/bursts/program.py"
COEFFICIENTS, LANES = "engines/hamlet/bursts/coefficients.py", "engines/hamlet/bursts/blocks.py"
NEGATIONS, WINDOWS = "engines/hamlet/bursts/negation.py", "engines/hamlet/bursts/windows.py"
PREFIXES, TABLES_OF_PREFIXES = "engines/hamlet/prefixes/kernel.py", "engines/hamlet/prefixes/program.py"
LANES_OF_PREFIXES, STEPS_OF_PREFIXES, RUNS_OF_PREFIXES, ENDS_OF_PREFIXES = (
    "engines/hamlet/prefixes/lanes/kernel.py",
    "engines/hamlet/prefixes/lanes/program.py",
    "engines/hamlet/prefixes/lanes/runs.py",
    "engines/hamlet/prefixes/lanes/ending.py",
)
WAITING_PREFIXES, SINGLE_PREFIXES, ELEMENTS_OF_PREFIXES = (
    "engines/hamlet/prefixes/lanes/waiting.py",
    "engines/hamlet/prefixes/lanes/singles.py",
    "engines/hamlet/prefixes/lanes/elements.py",
)
FOLD = "engines/hamlet/events/fold.py"
EVENTS, TREES = "engines/hamlet/events/kernel.py", "engines/hamlet/automaton/trees.py"
SETS, GAPS, PATHS = (
    "engines/hamlet/automaton/sets.py",
    "engines/hamlet/automaton/negation.py",
    "engines/hamlet/automaton/paths.py",
)
STEADY, ORDERED_RUNS, ORDERED, SHARED_LANES = (
    "engines/hamlet/events/steady.py",
    "engines/hamlet/events/ordered.py",
    "engines/hamlet/graphlets/ordered.py",
    "engines/hamlet/graphlets/snapshots.py",
)
NUMBERS, VALUES = "engines/hamlet/numbers/semiring.py", "engines/hamlet/numbers/columns.py"
CLASSES, WHOLES, ENGINE = (
    "engines/hamlet/input/query_class.py",
    "engines/hamlet/numbers/exact.py",
    "engines/hamlet/engine.py",
)
ARRIVAL, ASKED, HELD = "online/arrival.py", "online/asked.py", "online/held.py"
CHAIN, LAYERS_OF_CHAINS = "engines/hamlet/chains/chain.py", "engines/hamlet/chains/layers.py"
MAPS = "engines/hamlet/panes/maps.py"

FAULTS = (
    # --- streams
    Fault("an event at the watermark is late", ARRIVAL, "late = times < floor", "late = times <= floor"),
    Fault("a lateness of nothing", ARRIVAL, "before - np.int64(lateness)", "before"),
    Fault(
        "a window closes a moment too early",
        ASKED,
        "found, first = (until - spec.within - spec.origin) // spec.slide + 1,",
        "found, first = (until + 1 - spec.within - spec.origin) // spec.slide + 1,",
    ),
    Fault(
        "a query that comes answers from the window before",
        ASKED,
        "(since - spec.origin) // spec.slide + 1",
        "(since - spec.origin) // spec.slide",
    ),
    Fault("a query that comes answers from the beginning", ASKED, "max(found, first)", "found"),
    Fault(
        "events that come later stand later",
        HELD,
        'np.argsort(time, kind="stable")',
        "np.arange(len(time))",
    ),
    Fault(
        "events that open windows need are forgotten",
        HELD,
        "within_int64(time)[0]))",
        'within_int64(time)[0], "right"))',
    ),
    Fault(
        "panes are joined from the last to the first",
        CHAIN,
        "layer.join(before, one.numbers[kind])",
        "layer.join(one.numbers[kind], before)",
    ),
    Fault("a window takes the pane before it", CHAIN, "panes.pane[0] >= begun", "panes.pane[0] >= begun - 1"),
    Fault(
        "a window begins with the last pane of a partition",
        CHAIN,
        "np.minimum(first[panes.slot], number)",
        "number",
    ),
    Fault(
        "panes that came after the stacks were turned do not count", CHAIN, "there[panes.slot] = True", "pass"
    ),
    Fault(
        "a pane with a negated event leaves what waited before it",
        MAPS,
        "(CLEAR if _gap(outline, goal) else COPY, target",
        "(COPY, target",
    ),
    Fault(
        "a pane without events empties what waits before NOT",
        MAPS,
        "if inlet == goal and part == 0 and",
        "if goal == END and",
    ),
    Fault(
        "of AND the left side alone counts",
        LAYERS_OF_CHAINS,
        "self.algebra.multiply(left, right)",
        "left",
    ),
    # --- matching modes, and what is counted of trends and partitions
    Fault(
        "under next an event takes nothing (lanes)",
        ELEMENTS_OF_PREFIXES,
        "alive[slot] &= ~lanes",
        "alive[slot] &= lanes | ~lanes",
    ),
    Fault(
        "what an event has taken in order waits on (lanes)",
        LANES_OF_PREFIXES,
        "waiting.gone[slot] = True\n                touch(places, source)\n                fits",
        "fits",
    ),
    Fault(
        "a heap is asked at its top only (lanes)",
        LANES_OF_PREFIXES,
        "min(2 * place + 3, singles.size[source])",
        "min(2 * place + 1, singles.size[source])",
    ),
    Fault(
        "the largest are taken first, whatever the comparison (lanes)",
        SINGLE_PREFIXES,
        "~key if fold.steps.falling[step] else key",
        "~key",
    ),
    Fault(
        "a key that is NULL goes before the others (lanes)",
        SINGLE_PREFIXES,
        "    if not waiting.known[one]:\n        return False\n",
        "    if not waiting.known[one]:\n        return True\n",
    ),
    Fault(
        "contiguous skips time stamps (lanes)",
        WAITING_PREFIXES,
        "            waiting.alive[step] = 0\n",
        "            waiting.alive[step] |= 0\n",
    ),
    Fault(
        "a prefix goes on in all lanes, whose pattern or not (lanes)",
        LANES_OF_PREFIXES,
        "if lanes != waiting.alive[slot]:",
        "if False:",
    ),
    Fault(
        "trends end in all lanes (lanes)",
        ENDS_OF_PREFIXES,
        "(integers[one, part, lane] if has[step, lane] else 0)",
        "integers[one, part, lane]",
    ),
    Fault(
        "trends that touch follow one another (lanes)",
        ENDS_OF_PREFIXES,
        "if latest > trends.free[lane]:",
        "if latest >= trends.free[lane]:",
    ),
    Fault(
        "a duration ends where the window begins (lanes)",
        ENDS_OF_PREFIXES,
        "lane], time - base\n",
        "lane], time\n",
    ),
    Fault(
        "two positions of a query are one step (lanes)",
        STEPS_OF_PREFIXES,
        "            seen[same] += 1\n",
        "",
    ),
    Fault(
        "who is taken by other conditions is at one step (lanes)",
        STEPS_OF_PREFIXES,
        "same = (*look, frozenset(followers))",
        "same = (*look, frozenset())",
    ),
    Fault(
        "a local predicate is another query's (lanes)",
        STEPS_OF_PREFIXES,
        "self.predicates.bit.get((member.place, position.alias), -1))",
        "self.predicates.bit.get((0, position.alias), -1))",
    ),
    Fault(
        "what has been taken without a condition waits for no other (lanes)",
        LANES_OF_PREFIXES,
        "if condition < 0 and not found:",
        "if condition < 0:",
    ),
    Fault(
        "what gathers is only counted (lanes)",
        STEPS_OF_PREFIXES,
        "            and all(at != step for at, _, _, _ in self.effects)\n",
        "",
    ),
    Fault(
        "what events of the same type take is only counted (lanes)",
        STEPS_OF_PREFIXES,
        "            and all(source != step or types[target] != types[step] for target, source, _ in self.edges)\n",
        "",
    ),
    Fault(
        "events that begin trends are forgotten when others have waited (lanes)",
        WAITING_PREFIXES,
        "waiting.integers[step, 0, lane] + places.begun[step]",
        "places.begun[step]",
    ),
    Fault(
        "what some queries take of those that have begun is gone for all (lanes)",
        WAITING_PREFIXES,
        "if places.begun[step] and steps.start[step] & ~lanes:",
        "if False:",
    ),
    Fault(
        "those that have begun go on in all lanes, whose pattern or not (lanes)",
        LANES_OF_PREFIXES,
        "steps.starting[source, lane] and steps.edge_has[edge, lane]",
        "steps.starting[source, lane]",
    ),
    Fault(
        "of those that have begun elsewhere nothing goes on (lanes)",
        LANES_OF_PREFIXES,
        "fresh.integers[new, 0, lane] + begun",
        "begun",
    ),
    Fault(
        "nothing is in a pile of which events have only been counted (lanes)",
        WAITING_PREFIXES,
        "not fold.waiting.alive[step] and not places.begun[step]\n",
        "False\n",
    ),
    Fault(
        "a run begins trends at the time of what follows it (lanes)",
        RUNS_OF_PREFIXES,
        "    while fold.tied and stop > event and events.time[stop - 1] == events.time[stop]:",
        "    while False:",
    ),
    Fault(
        "contiguous forgets who waits for the last time of a run (lanes)",
        RUNS_OF_PREFIXES,
        "if steps.contiguous and fold.tied and stop > event:",
        "if False:",
    ),
    Fault(
        "a run begins one trend (lanes)",
        RUNS_OF_PREFIXES,
        "places.begun[step] += stop - event",
        "places.begun[step] += 1",
    ),
    Fault(
        "a run begins trends whatever its predicate says (lanes)",
        RUNS_OF_PREFIXES,
        "if not steps.counted[step] or steps.bit[step] >= 0:",
        "if not steps.counted[step]:",
    ),
    Fault(
        "contiguous passes over what comes next (lanes)",
        RUNS_OF_PREFIXES,
        "if beginning or live > 1 or (steps.contiguous and places.count[0]):",
        "if beginning or live > 1:",
    ),
    Fault(
        "what waits on is not asked where something else is in order (lanes)",
        RUNS_OF_PREFIXES,
        "if beginning or live > 1 or (",
        "if beginning or (",
    ),
    Fault(
        "who would be taken is passed over (lanes)",
        RUNS_OF_PREFIXES,
        "if keys[row] ^ flipped > below and known[row]:",
        "if keys[row] ^ flipped < below and known[row]:",
    ),
    Fault(
        "an event takes the first of a heap only, in its place (lanes)",
        RUNS_OF_PREFIXES,
        "if waiting.known[below] and waiting.key[below] <= most:",
        "if False:",
    ),
    Fault(
        "what goes on in its place does so whatever the predicate says (lanes)",
        RUNS_OF_PREFIXES,
        "if not holds_bit(fold.events, event, steps.bit[source]):",
        "if False:",
    ),
    Fault(
        "what goes on in its place is taken for its old key (lanes)",
        RUNS_OF_PREFIXES,
        "sink(singles, waiting, step, 0)",
        "",
    ),
    Fault(
        "what goes on in its place gathers nothing (lanes)",
        RUNS_OF_PREFIXES,
        "gather(fold, waiting, top, step, row) and ",
        "",
    ),
    Fault(
        "under next an event takes nothing (greta)",
        GRETA,
        "if (left := self.left(one, rows))] + arrived",
        "if (left := one)] + arrived",
    ),
    Fault("under next an event takes nothing (hamlet)", PREFIXES, "if program.mode != ANY:", "if False:"),
    Fault(
        "contiguous looks past what is not named (greta)",
        PREPARED,
        "self.mode is Mode.CONTIGUOUS or self.root.binds(row)",
        "self.root.binds(row)",
    ),
    Fault(
        "contiguous looks past what is not named (hamlet)",
        "template/plan.py",
        "        query.mode is syntax.Mode.CONTIGUOUS,",
        "        False,",
    ),
    Fault(
        "contiguous is next (hamlet)",
        PREFIXES,
        "range(count if program.mode != CONTIGUOUS else 0)",
        "range(count)",
    ),
    Fault(
        "the sides of AND wait together (hamlet)",
        PREFIXES,
        "waiting.mask[one] &= _not_taken(program, waiting.taken[one])",
        "waiting.mask[one] &= _not_taken(program, 3 if waiting.taken[one] else 0)",
    ),
    Fault(
        "trends that touch follow one another (greta)",
        GRETA,
        "start > free) and any",
        "start >= free) and any",
    ),
    Fault(
        "trends that touch follow one another (hamlet)",
        PREFIXES,
        "program.times[T_LATEST]] > free:",
        "program.times[T_LATEST]] >= free:",
    ),
    Fault(
        "a duration ends where the latest trend of its state ends (greta)",
        AGGREGATES,
        "                changed[place] = lasted\n",
        "                changed[place] = element[-2]\n",
    ),
    Fault(
        "a duration begins with the first trend of its state (hamlet)",
        PREFIXES,
        "        mine = time - into.integers[one, slot, clock]\n",
        "        mine = 0\n",
    ),
    Fault(
        "only trends reach (hamlet)",
        PREFIXES,
        "            reached |= waiting.mask[one]\n",
        "            reached |= waiting.mask[one] & program.ends[0]\n",
    ),
    Fault(
        "a leading NOT closes nothing (hamlet)",
        PREFIXES,
        "if gap and bit_of(begun, position) and _latest(program, starts, gap) != NO_TIME:",
        "if False:",
    ),
    Fault(
        "a trailing NOT undoes nothing (hamlet)",
        TABLES_OF_PREFIXES,
        "any(border.gap for border in automaton.ends)",
        "False",
    ),
    Fault(
        "a row of a reach alone is lost",
        AGGREGATES,
        "        there = element is not None or any(",
        "        there = element is not None and any(",
    ),
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
        "    elif prepared.analysed.ambiguous:",
        "    elif False:",
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
        "cls(tuple(start for start, _ in matches), tuple(ends)[::-1])",
        "cls(tuple(end for _, end in matches), tuple(ends)[::-1])",
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
        "evaluate(partition.rows[first:last])",
        "evaluate(partition.rows[first:last] + "
        "tuple(row for row in partition.rows[last:] if not prepared[0].root.bindable[row]))",
    ),
    Fault(
        "a leading NOT looks before the start of the window",
        PARTITIONS,
        "evaluate(partition.rows[first:last])",
        "evaluate(tuple(row for row in partition.rows[:first] if not prepared[0].root.bindable[row]) + "
        "partition.rows[first:last])",
    ),
    Fault(
        "a NOT before an absent optional part is forgotten",
        CONSTRUCTION,
        "_through(right.empty, left.last)",
        "left.last if right.empty else {}",
    ),
    # --- sequences of fixed length
    Fault(
        "a negated event lets START events wait (aseq)",
        ASEQ,
        "self.closed = self.closed or not came.isdisjoint(self.leading)",
        "self.closed = False",
    ),
    Fault("a NOT resets every prefix (aseq)", ASEQ, "if not came.isdisjoint(gap):", "if gap:"),
    Fault(
        "what comes before a shared part is of the same time (sharon)",
        SHARON,
        """            for number in taken:
                if opening := parts[number].opening(together):
                    for chain, at in going_on.get(number, ()):
                        chain.open(at, opening)
            for number in taken:
                parts[number].advance(together)
""",
        """            for number in taken:
                parts[number].advance(together)
            for number in taken:
                if opening := parts[number].opening(together):
                    for chain, at in going_on.get(number, ()):
                        chain.open(at, opening)
""",
    ),
    Fault(
        "steps that other events may take are shared (sharon, gloria)",
        STEPS,
        "(type_, tuple(own))",
        "(type_, ())",
    ),
    Fault(
        "a query that starts where the others go on counts as they do (gloria)",
        GLORIA,
        "if starting == queries:",
        "if starting:",
    ),
    Fault(
        "what some come in with is that of all (gloria)",
        GLORIA,
        "found for its, found in before if queries.issubset(its.queries)",
        "found for its, found in before if not queries.isdisjoint(its.queries)",
    ),
    Fault(
        "events of one time follow one another (gloria)",
        GLORIA,
        "arrived = [(row, step, *self.arriving(row, step)) for row, steps in events for step in steps]",
        "arrived = ((row, step, *self.arriving(row, step)) for row, steps in events for step in steps)",
    ),
    Fault(
        "steps on other conditions are shared (gloria)",
        STEPS_OF_TEMPLATES,
        "preceding[target].add((own[source], condition))",
        "preceding[target].add(own[source])",
    ),
    Fault(
        "what a condition joins is joined whatever it says (shared_two_step)",
        SHARED_TWO_STEP,
        "edge.source == earlier[0] and edge.holds(earlier[1], later[1])",
        "edge.source == earlier[0]",
    ),
    Fault(
        "parts with other conditions inside are alike (shared_two_step)",
        SHARED_TWO_STEP,
        "conditional.get((edge.source, edge.target)))",
        "None)",
    ),
    Fault(
        "parts of one time follow one another (shared_two_step)",
        SHARED_TWO_STEP,
        "bisect_right(self.starts, time)",
        "bisect_right(self.starts, time - 1)",
    ),
    Fault(
        "queries with other windows share (sharon)",
        PARTITIONS,
        "frozenset(query.group_by), spec]",
        "frozenset(query.group_by)]",
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
    # --- the compiled engine: bursts
    Fault(
        "a burst of tied events is a chain of pairs",
        COEFFICIENTS,
        "whole(arena, grown + 2, tied + 1)",
        "whole(arena, grown + 2, 2 * tied)",
    ),
    Fault(
        "events of one time follow one another (bursts)",
        BURSTS,
        "if event == stop or time[event] != time[last]:",
        "if event <= stop:",
    ),
    Fault(
        "a negated match that begins with its window does not close the starts behind it",
        NEGATIONS,
        "if opened[windows, slot] <= since:",
        "if opened[windows, slot] < since:",
    ),
    Fault(
        "what waits at a gap goes into its oldest bucket",
        LANES,
        "bucket = state.buckets[program[wait + WAIT_GAP]] - 1 if",
        "bucket = 0 if",
    ),
    Fault(
        "a negated sequence may begin before the gap (compiled)",
        NEGATIONS,
        "fresh = max(fresh, state.latest[get(program, AT_BEFORE, before)])",
        "fresh = time if state.latest[get(program, AT_BEFORE, before)] != NEVER else fresh",
    ),
    Fault(
        "the slot of a closed window is not cleared",
        WINDOWS,
        "first, count = base + program[run + FIRST_SLOT] + slot, program[run + RUN]",
        "first, count = base + program[run + FIRST_SLOT] + slot, program[run + RUN] // 2",
    ),
    Fault(
        "a burst is folded at once although its events feed another position",
        PROGRAM,
        "if source.type == target.type and source is not target:",
        "if source.type == target.type and source is target:",
    ),
    # --- the compiled engine: events
    Fault(
        "`<=` on neighbours is `<`",
        TREES,
        "        return below + found",
        "        return below",
    ),
    Fault(
        "`>` on neighbours is `>=`",
        TREES,
        "return size - below - found",
        "return size - below",
    ),
    Fault(
        "a time stamp is committed event by event",
        EVENTS,
        "put(memo, M_MATCHED, event - begin, 1)",
        "commit_block(arena, plan, memo, events, pairs, block, event, here)",
    ),
    Fault(
        "all lanes of a span open with the first",
        PATHS,
        "< get(memo, M_OPENED, plan[at + 2]):",
        "< get(memo, M_OPENED, 0):",
    ),
    Fault(
        "what may begin in a lane that opens is not gathered again",
        EVENTS,
        "if here > first:",
        "if here < first:",
    ),
    Fault(
        "a negation at the beginning looks at what came before the window, if that is in the span",
        EVENTS,
        "put(memo, M_OPENED, lane - spans.lanes[span], events.time[here])",
        "put(memo, M_OPENED, lane - spans.lanes[span], events.time[first])",
    ),
    Fault(
        "windows of a span are read where the last of them ends",
        EVENTS,
        "close, window = spans.close[read], spans.window[read]",
        "close, window = spans.last[span], spans.window[read]",
    ),
    Fault(
        "windows that are lanes while groups rest are known by their places among these",
        FOLD,
        "window=spans.window + first",
        "window=spans.window",
    ),
    Fault(
        "the last window before groups are tried again is forgotten",
        FOLD,
        "windows = Windows(*(one[first:last] for one in self.workload.windows))",
        "windows = Windows(*(one[first : last - 1] for one in self.workload.windows))",
    ),
    Fault(
        "windows that end apart have equal totals in every lane",
        "engines/hamlet/program/equal_states.py",
        "one.position: (folds.gap(accumulator.query, automaton, one.gap), accumulator.lane)",
        "one.position: (folds.gap(accumulator.query, automaton, one.gap), 0)",
    ),
    Fault(
        "sets of positions are never told apart when they are merged",
        SETS,
        "while known >= 0 and not _equal(plan, memo, known, standing):",
        "while known >= 0 and memo[_at(memo, known) + T_MEMBERS] != memo[_at(memo, standing) + T_MEMBERS]:",
    ),
    Fault(
        "the young sum of a queue keeps what was dropped",
        GAPS,
        "if entry == get(memo, M_QUEUE_MIDDLE, queue):",
        "if entry == 0:",
    ),
    Fault(
        "what flows into a position is not gathered again",
        PATHS,
        "    for at in range(plan[readers], plan[readers + 1]):\n        put(memo, M_DIRTY, plan[at], 1)",
        "    for at in range(plan[readers], plan[readers + 1]):\n        put(memo, M_DIRTY, plan[at], 0)",
    ),
    Fault(
        "a window contains its end (compiled)",
        "engines/hamlet/input/windows.py",
        "indices[closing] * slide + within <= time[event]:",
        "indices[closing] * slide + within < time[event]:",
    ),
    Fault(
        "bursts with ties are not counted",
        "engines/hamlet/bursts/kernel.py",
        "folded += count if count >= 0 else _alive(code, event, end)",
        "folded += max(count, 0)",
    ),
    # --- the compiled engine: classes and numbers
    Fault(
        "who groups by an attribute has no group without it, where another query asks for a value",
        ENGINE,
        "for own in (whole, *whole.rest)",
        "for own in (whole,)",
    ),
    Fault(
        "events without a value are in partitions of equivalence",
        CLASSES,
        "keep = _lacks(stream, own.absent) if own.absent else None",
        "keep = None",
    ),
    Fault(
        "coarser groups report some of their partitions",
        "engines/hamlet/arithmetics.py",
        "total = arithmetic.add(taken(numbers, left), taken(numbers, left + 1))",
        "total = taken(numbers, left)",
    ),
    Fault(
        "a window that begins at a cut is in two chunks",
        "engines/hamlet/input/chunks.py",
        "spec.indices(last).stop if high is None else _from(spec, high),",
        "spec.indices(last).stop if high is None else _from(spec, high) + 1,",
    ),
    Fault(
        "an event is dead unless the last predicate of its type holds",
        CLASSES,
        "alive |= mask",
        "alive = mask",
    ),
    Fault(
        "predicates of different aliases on one type are one",
        "engines/hamlet/input/predicate_bits.py",
        "(len(singles), one))[0] for one in own}",
        "(len(singles), one))[0] for one in own[:1]}",
    ),
    Fault(
        "a prime too few",
        WHOLES,
        "needed = max(1, -(-bits * 10 // int(PRIME_BITS * 10)))",
        "needed = max(1, bits * 10 // int(PRIME_BITS * 10))",
    ),
    Fault(
        "a sum that cancels decides how many primes it needs",
        ENGINE,
        "if part is None or part.role is not Role.TOTAL:",
        "if part is None or part.role is not Role.MAGNITUDE:",
    ),
    Fault(
        "digits of negative numbers are larger than the number",
        VALUES,
        "sign * (abs(number) & (2**DIGIT - 1))",
        "number & (2**DIGIT - 1)",
    ),
    Fault(
        "a trend without such an event has no MIN (compiled)",
        NUMBERS,
        "arena.key[index] = ABSENT\n        else:\n            arena.key[index] = min(",
        "arena.key[index] = ABSENT\n        else:\n            arena.key[index] = max(",
    ),
    Fault(
        "a negative value is added modulo p as its absolute value",
        NUMBERS,
        "if significand < 0 and number != ",
        "if significand == 1 and number != ",
    ),
    # --- plans
    Fault(
        "what no segment has is folded with its equals (events)",
        EQUAL_PLACES,
        "sharing.label(accumulator.analysed.query.name, one.index)",
        "None",
    ),
    Fault(
        "what no segment has is folded with its equals (bursts)",
        LAYOUT,
        "sharing.label(accumulator.analysed.query.name, one.index)",
        "None",
    ),
    Fault(
        "who shares the next step shares the last one, too (gloria)",
        PLANNING,
        "segments.setdefault((query, edge.source), its.queries)",
        "segments.setdefault((query, edge.target), its.queries)",
    ),
    Fault(
        "a part of a sequence is shared one step later (sharon)",
        PLANNING,
        "(int(query), first + step): number",
        "(int(query), first + step + 1): number",
    ),
    # --- graphlets
    Fault("a run of equal events counts once", STEADY, "whole(arena, slot, times)", "whole(arena, slot, 1)"),
    Fault(
        "a run takes events that do not match",
        STEADY,
        "every = every and (~events",
        "every = every or (~events",
    ),
    Fault(
        "an event of a tree of its own follows its equals",
        ORDERED_RUNS,
        "leaves = leaf if itself else leaf - 1",
        "leaves = leaf",
    ),
    Fault(
        "a run of a tree takes events of equal times one after the other",
        ORDERED_RUNS,
        "events.time[_unsigned(event + 1)] == events.time[_unsigned(event)]",
        "events.time[_unsigned(event + 1)] < events.time[_unsigned(event)]",
    ),
    Fault(
        "an event of a shared tree follows its equals",
        ORDERED,
        "leaves = leaf if itself else leaf - 1",
        "leaves = leaf",
    ),
    Fault(
        "a new lane finds what other sets left behind",
        SHARED_LANES,
        "whole_vectors((lane + 1) * unit) - lane * unit)",
        "unit)",
    ),
)
