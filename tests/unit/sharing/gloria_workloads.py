"""Random workloads for GLORIA's optimizer, and a brute force that shares no code with it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from hamlet_core.sharing.gloria.workload import KleeneBody, Transition, Workload, of_sequences

NAMES = "ABCDEFGH"


def chain(random, queries, most, *, types=6):
    """Each query is a piece of one long sequence."""
    names = NAMES[: random.randrange(3, types + 1)]
    patterns = []
    for _ in range(queries):
        first = random.randrange(len(names) - 1)
        patterns.append(names[first : random.randrange(first + 2, len(names) + 1)])
    return of_sequences(patterns, frequencies(random, names, most))


def tree(random, queries, most, shape, *, types=7):
    """Each query is a path of one tree of types, whose arrows lead to one end, from one start, or either way."""
    names = NAMES[: random.randrange(3, types + 1)]
    following = {name: [] for name in names}
    for place in range(1, len(names)):
        pair = names[random.randrange(place)], names[place]
        if shape == "one end" or (shape == "either" and random.random() < 0.5):
            pair = pair[::-1]
        following[pair[0]].append(pair[1])
    patterns = []
    while len(patterns) < queries:
        pattern = [random.choice(names)]
        while following[pattern[-1]] and random.random() < 0.85:
            pattern.append(random.choice(following[pattern[-1]]))
        if len(pattern) > 1:
            patterns.append(pattern)
    return of_sequences(patterns, frequencies(random, names, most))


def parting(random, queries, most):
    """One beginning, then one of two ways."""
    beginning = "ABC"[: random.randrange(2, 4)]
    patterns = [
        beginning[random.randrange(len(beginning) - 1) :] + "D" + random.choice(["E", "EF", "G", "GH"])
        for _ in range(queries)
    ]
    return of_sequences(patterns, frequencies(random, NAMES, most))


def with_shortcuts(random, workload):
    """The same, with queries that may also start or end in the middle of their ways."""
    starts, ends = [], []
    for query in workload.queries:
        sources = {one.source for one in workload.transitions if query in one.queries}
        targets = {one.target for one in workload.transitions if query in one.queries}
        middle = sorted(sources & targets)
        also = [random.sample(middle, random.randrange(len(middle) + 1)) for _ in range(2)]
        starts.append((*workload.starts[query], *also[0]))
        ends.append((*workload.ends[query], *also[1]))
    return replace(workload, starts=tuple(starts), ends=tuple(ends))


def body_first(random, queries, most):
    """All queries begin with one Kleene body, and go on from its last type along pieces of one sequence."""
    body, tail = NAMES[: random.randrange(1, 4)], NAMES[4 : random.randrange(5, 8)]
    way = body[-1] + tail
    lengths = [random.randrange(len(way)) for _ in range(queries)]
    transitions = tuple(
        Transition(way[place], way[place + 1], takers)
        for place in range(len(way) - 1)
        if (takers := tuple(query for query in range(queries) if lengths[query] > place))
    )
    pairs = tuple(zip(body, body[1:] + body[:1], strict=True))
    return Workload(
        transitions,
        ((body[0],),) * queries,
        tuple((way[length],) for length in lengths),
        frequencies(random, body + tail, most),
        (KleeneBody(pairs, tuple(range(queries))),),
    )


def frequencies(random, names, most):
    return {name: random.randrange(1, most) for name in names}


def groupings(items):
    """All ways to put items into groups."""
    if not items:
        return [[]]
    first, rest = items[0], groupings(items[1:])
    return [
        grown
        for groups in rest
        for grown in (
            [[first], *groups],
            *([*groups[:at], [first, *groups[at]], *groups[at + 1 :]] for at in range(len(groups))),
        )
    ]


def brute_force(workload):
    """The least cost of all plans of a workload of sequences: any sets with any snapshots, if each step is legal.

    A plan maps each transition to {query: (set, snapshot type)}.
    """
    size, ends = workload.frequencies, workload.ends
    transitions = {(one.source, one.target): one.queries for one in workload.transitions}
    order = []
    while len(order) < len(transitions):
        order += [
            pair
            for pair in transitions
            if pair not in order and all(own in order for own in transitions if own[1] == pair[0])
        ]

    def plans(pair):
        for groups in groupings(transitions[pair]):
            for types in product([None, *size], repeat=len(groups)):
                if all(type_ or len(group) == 1 for group, type_ in zip(groups, types, strict=True)):
                    yield {
                        query: (frozenset(group), type_)
                        for group, type_ in zip(groups, types, strict=True)
                        for query in group
                    }

    def change(pair, old, new):
        """What queries of `pair` pay at its source, given the plan of one transition into that; None: not legal."""
        cost, common = 0, old.keys() & new.keys()
        for query in common:
            (old_set, old_type), (new_set, new_type) = old[query], new[query]
            if any(new[other][0] != new_set for other in old_set & common):
                return None
            if new_type is None and old_type is not None:
                return None
            if new_type not in {None, pair[0]} and (old_type != new_type or new_set != old_set & common):
                return None
            if new_type == pair[0] and old_type is None and new_set == {query}:
                return None
            if old_type is not None and new_type != old_type:
                cost += size[pair[0]] * size[old_type]
        return cost

    def own(pair, plan):
        """A transition, and the queries that end there."""
        source, target = pair
        cost = 0
        for group, type_ in set(plan.values()):
            cost += size[source] * (size[target] if type_ is None else 1 if type_ == source else size[type_])
            cost += sum(size[target] * size[type_] for one in group if type_ and target in ends[one])
        return cost

    def started(pair, plan):
        """Queries that start here bring numbers: they may not enter an expression, unless all of its queries do."""
        coming = {query for before in transitions if before[1] == pair[0] for query in transitions[before]}
        for group, type_ in set(plan.values()):
            here = {query for query in group if pair[0] in workload.starts[query]}
            if type_ == pair[0]:
                if len(group) == 1 and not group <= coming:
                    return False
            elif (type_ is not None and here not in (set(), group)) or (
                type_ is not None and not group <= coming
            ):
                return False
        return True

    least = [float("inf")]

    def onwards(chosen, cost):
        if cost >= least[0]:
            return
        if len(chosen) == len(order):
            least[0] = cost
            return
        pair = order[len(chosen)]
        for plan in plans(pair):
            changes = [change(pair, chosen[before], plan) for before in chosen if before[1] == pair[0]]
            if None not in changes and started(pair, plan):
                onwards({**chosen, pair: plan}, cost + own(pair, plan) + sum(changes))

    onwards({}, sum(size[name] for names in workload.starts for name in names))
    return least[0]
