"""Groups are tried on some windows, and those that lose rest on the next ones: longer each time, until they gain."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from hamlet_core.describe.sharing import decided_lines
from hamlet_core.engines.hamlet.events import fold, turns, worth
from hamlet_core.engines.hamlet.events.spans import APART, Spans, spans_of
from hamlet_core.engines.hamlet.events.turns import Turns
from hamlet_core.sharing.options import Sharing

MUCH = 1e6
"""More than it costs to ask."""


def constant(gains: list[float]) -> Callable[[int, int], list[float]]:
    """The same gains in every trial."""
    return lambda *_: gains


def spans(*events: tuple[int, int]) -> Spans:
    first, last = np.array(events, np.int64).reshape(-1, 2).T
    nothing = np.zeros(0, np.int64)
    return Spans(first, last, *[nothing] * 8)


def tumbling(count: int, size: int = 10) -> Spans:
    return spans(*((size * place, size * place + size) for place in range(count)))


def taken(
    own: Spans, gains: Callable[[int, int], list[float]], groups: int, *, rests: bool = True
) -> list[tuple[int, int, list[int]]]:
    """(first span, end, groups that rest), where `gains` says what each group gains in spans in which none rests."""
    gain = np.zeros(groups)
    found = []
    for first, end, resting in Turns(own, gain, rests=rests):
        found.append((first, end, sorted(resting)))
        if not resting:
            gain += gains(first, end)
    return found


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "TRIAL", 20)
    monkeypatch.setattr(turns, "BATCH", 60)


def test_turns_have_as_many_events_as_they_should_or_a_span_more() -> None:
    found = taken(spans((0, 20), (20, 60), (60, 80)), lambda *_: [], 0)
    assert found == [(0, 2, []), (2, 3, [])]
    assert taken(spans((0, 90), (90, 120), (120, 200)), lambda *_: [], 0) == [(0, 1, []), (1, 3, [])]


def test_the_first_turns_are_short_and_each_says_how_much_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "FIRST", 10)
    own = Turns(tumbling(20), np.zeros(0), rests=False)
    assert [(end, own.share(end)) for _, end, _ in own] == [
        (1, 0.05), (3, 0.15), (7, 0.35), (13, 0.65), (19, 0.95), (20, 1.0),
    ]  # fmt: skip


def test_no_windows_are_a_turn_of_each_program() -> None:
    """They compile the kernels that windows would need."""
    empty = spans()
    assert taken(empty, lambda *_: [1.0, 1.0], 2) == [(0, 0, []), (0, 0, [0, 1])]
    assert taken(empty, lambda *_: [1.0], 1, rests=False) == [(0, 0, [])]
    assert taken(empty, lambda *_: [], 0) == [(0, 0, [])]


def test_a_group_that_loses_rests_for_longer_each_time_it_is_tried() -> None:
    found = taken(tumbling(60), lambda *_: [-1.0], 1)
    lengths = [(end - first, resting) for first, end, resting in found]
    assert lengths == [(2, []), (8, [0]), (2, []), (32, [0]), (2, []), (14, [0])]
    assert [first for first, _, _ in found[1:]] == [end for _, end, _ in found[:-1]]
    assert found[-1][1] == 60


def test_a_rest_of_large_windows_grows_until_it_has_many_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 3,840 events here; but four windows, however large they are."""
    found = taken(tumbling(30, size=500), lambda *_: [-1.0], 1)
    assert [(end - first, resting) for first, end, resting in found[:5]] == [
        (1, []), (4, [0]), (1, []), (8, [0]), (1, []),
    ]  # fmt: skip
    monkeypatch.setattr(turns, "LONGEST_REST", 8)
    found = taken(tumbling(30, size=500), lambda *_: [-1.0], 1)
    assert [(end - first, resting) for first, end, resting in found[:4]] == [(1, []), (4, [0])] * 2


def test_a_group_that_gains_again_shares_again() -> None:
    """It loses in the first hundred windows, and rests; a trial behind them shows that it gains."""
    found = taken(tumbling(400), lambda first, _: [-1.0 if first < 100 else MUCH, MUCH], 2)
    assert {tuple(resting) for _, _, resting in found} == {(), (0,)}
    last = max(end for _, end, resting in found if resting)
    assert 100 <= last <= 100 + turns.LONGEST_REST * 2 + 2
    assert sum(end - first for first, end, resting in found if not resting) >= 300 - 2 * turns.LONGEST_REST


def test_while_nobody_loses_all_go_on_and_what_loses_then_rests() -> None:
    """What all groups gain while they go on is the next trial: no shorter turns in between."""
    found = taken(tumbling(200), lambda first, _: [MUCH if first < 2 else -1.0], 1)
    lengths = [(end - first, resting) for first, end, resting in found]
    assert lengths == [(2, []), (64, []), (8, [0]), (2, []), (32, [0]), (2, []), (90, [0])]


def test_only_the_groups_that_lose_rest() -> None:
    found = taken(tumbling(40), lambda *_: [MUCH, -1.0, 0.0], 3)
    assert {tuple(resting) for _, _, resting in found} == {(), (1, 2)}


def test_all_rest_if_some_gain_less_than_the_longer_way_of_every_event_costs() -> None:
    """A trial has two windows of 10 events."""
    most = 20 * turns.LONGER_WAY
    gains = [most / 2, -9.0, most / 2 + 1.0]
    enough = taken(tumbling(40), constant(gains), 3)
    assert {tuple(resting) for _, _, resting in enough} == {(), (1,)}
    little = taken(tumbling(40), constant([*gains[:2], most / 2]), 3)
    assert {tuple(resting) for _, _, resting in little} == {(), (0, 1, 2)}


def test_what_groups_must_gain_may_be_more() -> None:
    """A trial has 20 events."""
    for gain, resting in (20 * 50.0, {(), (0,)}), (20 * 50.0 + 1.0, {()}):
        found = Turns(tumbling(40), own := np.zeros(1), rests=True, worth=50.0)
        sets = set()
        for _, _, lost in found:
            sets.add(tuple(lost))
            own += 0.0 if lost else gain
        assert sets == resting


def test_few_different_sets_of_groups_rest() -> None:
    """Each trial finds others that lose, and of seven groups there are 128 sets; what gains never rests."""
    draw = np.random.default_rng(5)
    gain, sets, trial = np.zeros(7), set(), True
    lost: frozenset[int] = frozenset()
    for _, _, resting in Turns(tumbling(4_000), gain, rests=True):
        if trial:
            assert not resting
            change = draw.choice([-1.0, MUCH], 7)
            gain += change
            lost = frozenset(np.flatnonzero(change < 0).tolist())
        else:
            assert resting <= lost
            sets.add(resting)
        trial = not trial or not lost
    assert 3 < len(sets) <= turns.MOST_SETS


def test_groups_that_may_not_rest_share_in_every_window() -> None:
    found = taken(tumbling(40), lambda *_: [-1.0], 1, rests=False)
    assert all(resting == [] for _, _, resting in found)
    assert [end for _, end, _ in found][-1] == 40


WORKLOAD = "\n".join(
    f"q{number}: RETURN COUNT(*), SUM(b.v), MIN(b.v) PATTERN SEQ({kind} p, B b+) WHERE b.v < NEXT(b).v AND b.w > {number} "
    "WITHIN 60 s SLIDE 20 s"
    for number, kind in enumerate("ACD")
)


def stream(count: int) -> pa.Table:
    draw = np.random.default_rng(4)
    return pa.table(
        {
            "time": np.sort(draw.integers(0, count, count)),
            "type": draw.choice(list("ABBCD"), count),
            "v": draw.integers(0, 30, count),
            "w": draw.integers(0, 4, count),
        }
    )


def at_rest_alone(lanes: int) -> Callable[..., int]:
    """`lanes_of` that gives lanes where nothing is saved by sharing, which is its seventh argument."""
    return lambda *asked: APART if any(asked[6:]) else lanes


@pytest.mark.parametrize("lanes", [APART, 2, 64])
@pytest.mark.parametrize("arithmetic", ["scaled", "exact", "modular"])
def test_a_rest_changes_no_answer(arithmetic: str, lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second turn or so groups rest, at random: answers are those of a run in which none does."""
    from hamlet_core import execute

    events = stream(600)
    monkeypatch.setattr(fold, "LONGER_WAY", 0.0)
    monkeypatch.setattr(fold, "OF_LANES", 0.0)
    monkeypatch.setattr(fold, "most_gained", lambda *_: MUCH)
    monkeypatch.setattr(fold, "lanes_of", at_rest_alone(lanes))
    monkeypatch.setattr(turns, "LONGEST_REST", 4)
    with monkeypatch.context() as patched:
        patched.setattr(Sharing, "may_rest", False)
        awake = execute(WORKLOAD, events, arithmetic=arithmetic)
    assert awake.counters.undecided_events == 0
    assert awake.counters.decided_bursts
    draw = np.random.default_rng(7)

    def at_random(self: Turns):
        for first, end, _ in real(self):
            yield first, end, frozenset(np.flatnonzero(draw.integers(0, 2, len(self.gain))).tolist())

    real = Turns.__iter__
    monkeypatch.setattr(Turns, "__iter__", at_random)
    rested = execute(WORKLOAD, events, arithmetic=arithmetic)
    assert rested.results == awake.results
    assert 0 < rested.counters.undecided_events < rested.counters.kernel_events
    assert (rested.counters.kernel_events < awake.counters.kernel_events) is (lanes != APART)
    assert 0 < rested.counters.decided_bursts < awake.counters.decided_bursts
    assert sum(rested.decisions["bursts"].to_pylist()) == rested.counters.decided_bursts
    resting = f"resting        {rested.counters.undecided_events:,} events, while groups rested that lose by sharing"
    assert resting in list(decided_lines(rested))
    assert not any(line.startswith("resting") for line in decided_lines(awake))


def beside_others(count: int, own: float, run: int = 50) -> pa.Table:
    """A stream of which a share is B, in runs."""
    draw = np.random.default_rng(8)
    runs = np.where(draw.random(count // run) < own, "B", "A")
    kinds = np.repeat(runs, run)
    kinds[::run] = draw.choice(list("ACD"), len(kinds[::run]))
    return pa.table(
        {"time": np.arange(len(kinds)), "type": kinds.tolist(), "v": draw.integers(0, 30, len(kinds))}
    )


ORDERED = "\n".join(
    f"q{number}: RETURN COUNT(*) PATTERN SEQ({kind} p, B b+) WHERE b.v < NEXT(b).v WITHIN 500 s"
    for number, kind in enumerate("ACD")
)


@pytest.mark.parametrize(("own", "run", "tried"), [(0.1, 50, False), (0.9, 50, True), (0.9, 2, False)])
def test_groups_with_few_of_the_events_or_short_bursts_are_never_tried(
    own: float, run: int, tried: bool
) -> None:
    from hamlet_core import execute

    events = beside_others(20_000, own, run)
    few = execute(ORDERED, events)
    assert (few.counters.decided_bursts > 0) is tried
    assert (few.counters.undecided_events == few.counters.kernel_events > 0) is not tried
    assert (len(few.decisions) > 0) is tried
    said = list(decided_lines(few))[1]
    assert (
        said.startswith("bursts")
        if tried
        else said
        == (
            f"nothing: in {few.counters.undecided_events:,} events sharing could not gain what it costs to ask"
        )
    )
    assert few.results == execute(ORDERED, events, policy="always").results


def test_a_stream_that_one_trial_covers_is_always_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    from hamlet_core import execute

    monkeypatch.setattr(turns, "TRIAL", worth.TRIAL)
    assert execute(ORDERED, beside_others(2_000, 0.2)).counters.decided_bursts > 0


def test_a_stream_whose_types_alternate_is_not_taken_for_one_without_them() -> None:
    from hamlet_core import execute

    kinds = ["A" if place % 16 == 0 else "B" for place in range(1 << 16)]
    events = pa.table({"time": np.arange(len(kinds)), "type": kinds, "v": np.arange(len(kinds)) % 7})
    assert execute(ORDERED, events).counters.decided_bursts > 0


@pytest.mark.parametrize(
    ("saved", "lanes_of", "tried"),
    [(0.0, at_rest_alone(8), True), (1e6, at_rest_alone(8), False), (0.0, lambda *_: 8, False)],
    ids=["groups may gain more", "lanes save more", "lanes cost less in any case"],
)
def test_groups_that_cannot_gain_what_lanes_save_are_never_tried(
    saved: float, lanes_of: Callable[..., int], tried: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hamlet_core import execute

    events = beside_others(20_000, 0.9)
    sliding = ORDERED.replace("WITHIN 500 s", "WITHIN 500 s SLIDE 100 s")
    truth = execute(sliding, events, arithmetic="exact", policy="never").results
    monkeypatch.setattr(fold, "lanes_of", lanes_of)
    monkeypatch.setattr(fold, "saved_by", lambda *_: saved)
    lanes = set()

    def told(windows, layout, most):
        lanes.add(most)
        return spans_of(windows, layout, most)

    monkeypatch.setattr(fold, "spans_of", told)
    found = execute(sliding, events, arithmetic="exact")
    assert (found.counters.decided_bursts > 0) is tried
    assert tried or lanes == {APART, 8}
    assert found.results == truth
