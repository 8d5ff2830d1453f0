"""hamlet == greta where queries share graphlets, in every policy and cost model; the counters say what the log says."""

from collections import Counter
from random import Random

import pytest

import hamlet_core
from hamlet_core.algebra.arithmetic import ARITHMETICS
from hamlet_core.sharing.reasons import Reason
from tests.properties import agreement, bursty

SHARING = (
    ("always", "measured", "guarded"),
    ("dynamic", "paper", "guarded"),
    ("always", "paper", "guarded"),
    ("dynamic", "paper", "paper"),
    ("dynamic", "measured", "guarded"),
    ("dynamic", "measured", "paper"),
)
EACH = 3
"""Ways to share that a case is run with, in turn."""


def check(seeds):
    """Compare the workloads of these seeds; what happened how often."""
    reached: Counter[str] = Counter()
    for seed in seeds:
        case = bursty.task(Random(seed))
        asked = {"schema": case.schema}
        truth = {}
        shared = False
        for turn in range(EACH):
            policy, model, choice = SHARING[(seed + 2 * turn + turn // 2) % len(SHARING)]
            arithmetic = sorted(ARITHMETICS)[(seed // len(SHARING) + turn) % len(ARITHMETICS)]
            if arithmetic not in truth:
                truth[arithmetic] = hamlet_core.run(
                    case.workload, case.table(), engine="greta", arithmetic=arithmetic, **asked
                )
            found = hamlet_core.execute(
                *(case.workload, case.table()),
                **(
                    asked
                    | {"policy": policy, "cost_model": model, "choice": choice, "arithmetic": arithmetic}
                ),
            )
            where = seed, policy, model, choice, arithmetic, case
            assert differences(found.results, truth[arithmetic], arithmetic, case) == [], where
            assert counted(found.counters) == logged(found.decisions), where
            shared = shared or found.counters.shared_bursts > 0
            reached.update(_merits(found, case, model))
        reached["cases"] += 1
        reached["cases that shared"] += shared
        reached["more than 64 queries"] += len(case.workload.queries) > 64
    return reached


def differences(found, truth, arithmetic, case):
    """What is not as the reference has it, to the last digit where the arithmetic has digits."""
    wrong = agreement.heads_differ(found, truth)
    if not wrong and arithmetic != "scaled":
        column = {"exact": "exact", "modular": "fingerprint"}[arithmetic]
        wrong = agreement.column_differs(found, truth, column)
    return wrong or agreement.doubles_differ(found, truth, case.workload, case.table(), case.schema)


def counted(counters):
    return {
        "bursts": counters.decided_bursts,
        "shared": counters.shared_bursts,
        "created": counters.snapshots,
        "carried": counters.lanes,
        "split": counters.splits,
        "merge": counters.merges,
    }


def logged(decisions):
    """The same, of the rows of the log."""
    log = decisions.to_pylist()
    return {
        "bursts": sum(row["bursts"] for row in log),
        "shared": sum(row["bursts"] for row in log if row["queries"] != ""),
        "created": sum(row["snapshots_created"] for row in log),
        "carried": sum(row["snapshots_carried"] for row in log),
        "split": sum(row["bursts"] for row in log if row["outcome"] == "split"),
        "merge": sum(row["bursts"] for row in log if row["outcome"] == "merge"),
    }


def _merits(found, case, model):
    queries = {one.name: (one.pattern, one.where) for one in case.workload.queries}
    for row in found.decisions.to_pylist():
        yield from (row["outcome"] for _ in range(row["bursts"]))
        yield row["reason"]
        if row["queries"]:
            sets = [own.split(", ") for own in row["queries"].split("; ")]
            different = any(len({queries[name] for name in own}) > 1 for own in sets)
            yield from ("shared bursts" for _ in range(row["bursts"]))
            yield from ("shared by different queries" for _ in range(row["bursts"] * different))
            yield f"shared by price, {model}"
            yield from ("two sets" for _ in sets[1:2])
            yield from ("a part" for _ in range(sum(map(len, sets)) < row["candidates"].count(",") + 1))
            yield from ("long burst" for _ in range(row["events"] > 40))
            yield from ("partitions" for _ in range(row["partition"] != "{}"))


OUTCOMES = ("open", "continue", "split", "merge", "apart")


def test_engines_agree_where_queries_share():
    reached = check(range(200))
    assert reached["cases that shared"] >= reached["cases"] / 2
    assert reached["shared by different queries"] >= reached["shared bursts"] / 2
    assert {name: reached[name] for name in OUTCOMES if reached[name] < 20} == {}
    others = "a part", "long burst", "partitions", "more than 64 queries", "shared by price, measured"
    assert {name: reached[name] for name in others if not reached[name]} == {}


@pytest.mark.slow
def test_engines_agree_on_twenty_thousand_workloads_that_share():
    reached = check(range(10**6, 10**6 + 20_000))
    assert reached["cases that shared"] >= reached["cases"] / 2
    assert reached["shared by different queries"] >= reached["shared bursts"] / 2
    assert {name: reached[name] for name in OUTCOMES if reached[name] < 5_000} == {}
    others = "a part", "two sets", "long burst", "partitions", "more than 64 queries"
    assert {name: reached[name] for name in others if reached[name] < 100} == {}
    reasons = {one.value for one in Reason} - {Reason.NEVER.value, Reason.ONE.value}
    assert {name: reached[name] for name in reasons if not reached[name]} == {}
