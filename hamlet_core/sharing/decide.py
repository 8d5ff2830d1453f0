"""Share or not, burst by burst (HAMLET, sections 4.2 and 4.3), with a guard where the paper's rules can lose."""

from __future__ import annotations

from hamlet_core.sharing.burst import Burst, Decision, Outcome, QuerySet
from hamlet_core.sharing.costs import CostModel, Paper, plan_cost

Sets = tuple[QuerySet, ...]


def decide(
    burst: Burst, *, policy: str = "dynamic", choice: str = "guarded", model: CostModel = Paper()
) -> Decision:
    """Which queries share the burst.

    `policy` "always" lets everybody share, "never" nobody, "dynamic" decides by cost; `choice` "paper" believes the
    pruning rules of the paper, "guarded" compares their plan with simpler ones. Costs O(noisy queries) plans.
    """
    sets, reason = _choose(burst, policy, choice, model)
    alone = model.alone(burst, burst.queries)
    return Decision(sets, _outcome(burst, sets), plan_cost(model, burst, sets), alone, reason)


def _choose(burst: Burst, policy: str, choice: str, model: CostModel) -> tuple[Sets, str]:
    everybody = burst.queries
    if policy == "never" or len(everybody) < 2:
        return (), f"policy {policy}" if policy == "never" else "no two queries"
    if policy == "always":
        return (everybody,), "policy always"
    pruned = without_costly(burst, model)
    if choice == "paper":
        return _sharing([pruned]), "quiet queries, and noisy ones that cost no more with them"
    return _guarded(burst, pruned, model)


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


def _guarded(burst: Burst, pruned: QuerySet, model: CostModel) -> tuple[Sets, str]:
    """The cheapest of a few plans; on a tie nobody shares, or else the open graphlet goes on.

    Costs of disjoint sets add up: the classes that gain by sharing are together as cheap as any of them, or all.
    """
    plans: list[tuple[Sets, str]] = [((), "sharing gains nothing")]
    if burst.open is not None:
        plans.append(((burst.open.queries,), "the open graphlet goes on"))
    gaining = [own for own in burst.classes() if model.shared(burst, own) < model.alone(burst, own)]
    plans += [
        (_sharing([pruned]), "noisy queries stay where they cost no more"),
        ((burst.queries,), "everybody is cheapest"),
        (_sharing(gaining), "each class of equal signatures that gains"),
    ]
    return min(plans, key=lambda plan: plan_cost(model, burst, plan[0]))  # the first of equals


def _sharing(sets: list[QuerySet]) -> Sets:
    return tuple(own for own in sets if len(own) > 1)


def _outcome(burst: Burst, sets: Sets) -> Outcome:
    if burst.open is not None:
        return Outcome.CONTINUE if sets == (burst.open.queries,) else Outcome.SPLIT
    if not sets:
        return Outcome.APART
    return Outcome.MERGE if burst.begun else Outcome.OPEN
