"""The numbers of the paper, recomputed, and those that follow from its rules; what the guard promises."""

from itertools import combinations
from random import Random

import pytest

from hamlet_core.errors import InvariantError
from hamlet_core.sharing.burst import Burst, OpenGraphlet, Outcome
from hamlet_core.sharing.costs import Paper, plan_cost, varpulis_benefit
from hamlet_core.sharing.decide import decide
from tests.conftest import ROOT

MODEL = Paper()


def exhaustive(burst):
    """The best plan with at most one shared set, and its cost."""
    sizes = range(2, len(burst.queries) + 1)
    plans = [(), *((own,) for size in sizes for own in combinations(burst.queries, size))]
    best = min(plans, key=lambda sets: plan_cost(MODEL, burst, sets))
    return best, plan_cost(MODEL, burst, best)


def quiet(queries, **statistics):
    """A burst on which all queries agree."""
    return Burst(types_per_query=2, signatures=((),) * queries, **statistics)


def differing(*signatures, burst_events=4, window_events=20, **statistics):
    """A burst of four events; signatures of one digit per event."""
    made = tuple(tuple(map(int, one)) for one in signatures)
    return Burst(burst_events, window_events, types_per_query=2, signatures=made, **statistics)


def test_merge_where_sharing_pays():
    burst = quiet(2, burst_events=4, window_events=7)
    assert (plan_cost(MODEL, burst, [(0, 1)]), plan_cost(MODEL, burst, [])) == (44, 56)
    decision = decide(burst)
    assert (decision.sets, decision.outcome, decision.cost, decision.cost_alone) == (
        ((0, 1),),
        Outcome.MERGE,
        44,
        56,
    )


def test_split_where_a_second_snapshot_costs_more_than_it_saves():
    open_ = OpenGraphlet(queries=(0, 1), snapshots=1, events=4)
    burst = Burst(4, 11, types_per_query=2, signatures=((0,), (1,)), open=(open_,))
    assert (plan_cost(MODEL, burst, [(0, 1)]), plan_cost(MODEL, burst, [])) == (120, 88)
    decision = decide(burst)
    assert (decision.sets, decision.outcome) == ((), Outcome.SPLIT)


def test_merge_again():
    burst = quiet(2, burst_events=4, window_events=15)
    assert (plan_cost(MODEL, burst, [(0, 1)]), plan_cost(MODEL, burst, [])) == (76, 120)
    assert decide(burst).outcome is Outcome.MERGE
    assert decide(quiet(2, burst_events=4, window_events=15, begun=False)).outcome is Outcome.OPEN


def test_quiet_queries_need_not_share():
    burst = quiet(3, burst_events=1, window_events=10, graphlet_events=8)
    assert [plan_cost(MODEL, burst, sets) for sets in ([(0, 1, 2)], [(0, 1)], [])] == [58, 52, 30]
    assert decide(burst).sets == ()
    open_ = OpenGraphlet(queries=(0, 1, 2), snapshots=1, events=7)
    going_on = quiet(3, burst_events=1, window_events=10, open=(open_,))
    assert plan_cost(MODEL, going_on, [(0, 1, 2)]) == 10
    assert (decide(going_on).sets, decide(going_on).outcome) == (((0, 1, 2),), Outcome.CONTINUE)


def test_a_query_with_one_private_snapshot_goes_alone():
    burst = differing("0", "0", "0", "1")
    assert [plan_cost(MODEL, burst, sets) for sets in ([(0, 1, 2, 3)], [(0, 1, 2)], [])] == [224, 184, 320]
    assert decide(burst).sets == ((0, 1, 2),)
    assert decide(burst).cost == 184


def test_two_noisy_queries():
    burst = differing("000", "100", "000", "111")
    everybody, without_second, without_fourth = [(0, 1, 2, 3)], [(0, 2, 3)], [(0, 1, 2)]
    plans = everybody, without_second, without_fourth
    assert [plan_cost(MODEL, burst, sets) for sets in plans] == [448, 496, 288]
    paper = decide(burst, choice="paper")
    assert (paper.sets, paper.cost) == (((0, 1, 2),), 288)
    guarded = decide(burst)
    assert (guarded.sets, guarded.cost) == (((0, 2),), 256)


def test_queries_that_need_the_same_snapshots():
    burst = differing("000", "111", "000", "111")
    plans = [(0, 1, 2, 3)], [(0, 2, 3)], [(0, 1, 2)]
    assert [plan_cost(MODEL, burst, sets) for sets in plans] == [448, 496, 496]
    assert decide(burst, choice="paper").sets == ((0, 1, 2, 3),)
    assert plan_cost(MODEL, burst, [(0, 2)]) == 256
    guarded = decide(burst)
    assert (guarded.sets, guarded.cost) == (((0, 2), (1, 3)), 192)


def test_two_large_classes():
    burst = differing(*"0000011111")
    first, second = (0, 1, 2, 3, 4), (5, 6, 7, 8, 9)
    plans = [burst.queries], [first], [], [first, second]
    assert [plan_cost(MODEL, burst, sets) for sets in plans] == [320, 520, 800, 240]
    assert decide(burst).sets == (first, second)


@pytest.mark.parametrize(("numbers", "benefit"), [((4, 2, 1), 14), ((4, 2, 2), -4), ((10, 5, 1), 395)])
def test_the_formula_of_varpulis(numbers, benefit):
    assert varpulis_benefit(*numbers) == benefit


def test_policies():
    burst = differing("000", "100", "000", "111")
    assert decide(burst, policy="always").sets == (burst.queries,)
    never = decide(burst, policy="never")
    assert (never.sets, never.cost, never.outcome) == ((), never.cost_alone, Outcome.APART)


def test_one_query_shares_with_nobody():
    assert decide(quiet(1, burst_events=4, window_events=7), policy="always").sets == ()


def test_another_set_than_the_open_one_splits_it():
    open_ = OpenGraphlet(queries=(0, 1, 2, 3), snapshots=1, events=4)
    decision = decide(differing("000", "111", "000", "111", open=(open_,)))
    assert (decision.sets, decision.outcome) == (((0, 2), (1, 3)), Outcome.SPLIT)


def test_on_a_tie_nobody_shares_and_then_the_open_graphlet_goes_on():
    nothing = Burst(1, 0, types_per_query=0, signatures=((), ()))
    assert decide(nothing).sets == ()
    burst = differing("0", "0", "0", "0", open=(OpenGraphlet(queries=(0, 1, 2, 3), snapshots=1, events=0),))
    assert decide(burst).reason.value == "the open graphlet goes on"


def test_signatures_that_do_not_fit():
    with pytest.raises(InvariantError, match="different lengths"):
        Burst(4, 4, types_per_query=1, signatures=((0,), ()))
    with pytest.raises(InvariantError, match="5 signatures for 4 events"):
        Burst(4, 4, types_per_query=1, signatures=((0,) * 5,) * 2)


def test_four_queries_have_twelve_plans_with_one_set():
    burst = differing("0", "0", "0", "1")
    best, cost = exhaustive(burst)
    assert (best, cost) == (((0, 1, 2),), 184)


def drawn(random):
    """A burst of up to six queries in up to three classes, with noise on top."""
    queries, events = random.randrange(2, 7), random.randrange(1, 9)
    classes = [[random.randrange(2) for _ in range(events)] for _ in range(random.randrange(1, 4))]
    noise = random.choice([0.0, 0.05, 0.3])
    signatures = []
    for _ in range(queries):
        own = random.choice(classes)
        signatures.append(tuple(bit ^ (random.random() < noise) for bit in own))
    open_ = ()
    if random.random() < 0.5:
        members = tuple(sorted(random.sample(range(queries), random.randrange(2, queries + 1))))
        open_ = (OpenGraphlet(members, snapshots=random.randrange(1, 4), events=random.randrange(1, 30)),)
    window = events + random.randrange(100)
    return Burst(
        events, window, types_per_query=random.randrange(1, 4), signatures=tuple(signatures), open=open_
    )


def test_the_guarded_choice_is_never_dearer_than_any_simple_plan():
    random = Random(5)
    worst = worst_of_paper = 1.0
    gaps = gaps_of_paper = 0
    for _ in range(40_000):
        burst = drawn(random)
        cost = decide(burst).cost
        classes = burst.classes()
        simple = [[burst.queries], [], classes[:1], classes, *([one] for one in classes)]
        assert cost <= min(plan_cost(MODEL, burst, sets) for sets in simple), burst
        best = exhaustive(burst)[1]
        worst = max(worst, cost / best)
        gaps += cost > best
        paper = decide(burst, choice="paper").cost
        worst_of_paper = max(worst_of_paper, paper / best)
        gaps_of_paper += paper > best
    page = (ROOT / "docs" / "sharing.md").read_text("utf-8")
    assert f"dearer than the best single set in {gaps:,}, at worst {worst:.2f} times" in page
    assert f"choice is dearer in {gaps_of_paper:,}, at worst {worst_of_paper:.2f} times" in page
    assert worst < 1.5
