"""Share or not, burst by burst (HAMLET, sections 4.2 and 4.3), with a guard where the paper's rules can lose."""

from __future__ import annotations

from hamlet_core.sharing.burst import Burst, Decision, Outcome, QuerySet
from hamlet_core.sharing.costs import CostModel, Paper, plan_cost
from hamlet_core.sharing.reasons import Reason

Sets = tuple[QuerySet, ...]
Plan = tuple[Sets, Reason]


def decide(
    burst: Burst, *, policy: str = "dynamic", choice: str = "guarded", model: CostModel = Paper()
) -> Decision:
    """Which queries share the burst.

    `policy` "always" lets everybody share, "never" nobody, "dynamic" decides by cost; `choice` "paper" believes the
    pruning rules of the paper, "guarded" compares their plan with simpler ones. Costs O(noisy queries) plans.
    """
    everybody = burst.queries
    if policy == "never" or len(everybody) < 2:
        plans: list[Plan] = [((), Reason.NEVER if policy == "never" else Reason.ONE)]
    elif policy == "always":
        plans = [((everybody,), Reason.ALWAYS)]
    elif choice == "paper":
        plans = [(_sharing([without_costly(burst, model)]), Reason.PAPER)]
    else:
        plans = _guarded(burst, model)
    costs = [plan_cost(model, burst, sets) for sets, _ in plans]
    cost, (sets, reason) = min(zip(costs, plans, strict=True), key=lambda one: one[0])  # the first of equals
    others = [other for other, (own, _) in zip(costs, plans, strict=True) if own]
    shared = cost if sets else min(others, default=plan_cost(model, burst, [everybody]))
    return Decision(sets, _outcome(burst, sets), cost, plan_cost(model, burst, ()), shared, reason)


def without_costly(burst: Burst, model: CostModel) -> QuerySet:
    """Everybody but the noisy queries without whom the others would be cheaper: one plan for each (Theorem 4.5)."""
    everybody, quiet = burst.queries, burst.classes()[0]
    cost = plan_cost(model, burst, [everybody])
    costly = {
        query
        for query in everybody
        if query not in quiet
        and plan_cost(model, burst, [tuple(one for one in everybody if one != query)]) < cost
    }
    return tuple(query for query in everybody if query not in costly)


def _guarded(burst: Burst, model: CostModel) -> list[Plan]:
    """A few plans, in the order that settles a tie: nobody shares, or else the open graphlets go on.

    Costs of disjoint sets add up: the classes that gain by sharing are together as cheap as any of them, or all.
    """
    plans: list[Plan] = [((), Reason.NOTHING_GAINED)]
    if burst.open:
        plans.append((tuple(one.queries for one in burst.open), Reason.GOES_ON))
    gaining = [
        own
        for own in burst.classes()
        if len(own) > 1 and model.shared(burst, own, continuing=False) < model.alone(burst, own)
    ]
    return [
        *plans,
        ((burst.queries,), Reason.EVERYBODY),
        (_sharing([without_costly(burst, model)]), Reason.PRUNED),
        (_sharing(gaining), Reason.CLASSES),
    ]


def _sharing(sets: list[QuerySet]) -> Sets:
    return tuple(own for own in sets if len(own) > 1)


def _outcome(burst: Burst, sets: Sets) -> Outcome:
    if burst.open:
        return Outcome.CONTINUE if burst.continues(sets) else Outcome.SPLIT
    if not sets:
        return Outcome.APART
    return Outcome.MERGE if burst.begun else Outcome.OPEN
