"""Every window is read once, from a lane that begins where it does, however windows overlap."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import hamlet_core
from hamlet_core.engines.hamlet.events import choice, fold
from hamlet_core.engines.hamlet.events.choice import overlap
from hamlet_core.engines.hamlet.events.spans import APART, Layout, Spans, Windows, sizes_of, spans_of

NEXT = "PATTERN SEQ(P p, B b+) WHERE b.x < NEXT(b).x"


def windows(random: Random, specs: int) -> tuple[Windows, Layout]:
    """Windows of some specifications over the events of some partitions, as they are sliced."""
    found, rows, before = [], [], 0
    slide = random.randint(1, 4)
    for spec in range(specs):
        within, own, begin = random.randint(1, 12), [], 0
        for _ in range(random.randint(0, 4)):
            times = np.cumsum([random.choice((0, 1, 1, 3)) for _ in range(random.randint(1, 30))])
            for start in range(-within, int(times[-1]) + 1, slide):
                first, last = np.searchsorted(times, [start, start + within]).tolist()
                if first < last:
                    own.append((begin + first, begin + last))
            begin += len(times)
        found += [(first, last, before + row, spec) for row, (first, last) in enumerate(own)]
        rows.append(len(own))
        before += len(own)
    columns = np.array(found, np.int64).reshape(-1, 4).T
    accumulators = [random.randint(1, 3) for _ in range(specs)]
    return Windows(*columns), Layout(rows, accumulators, [2 * count for count in accumulators])


@pytest.mark.parametrize("specs", [1, 3])
@pytest.mark.parametrize("most", [APART, 1, 2, 5, 64])
def test_every_window_is_read_where_it_ends_from_the_lane_that_begins_with_it(most: int, specs: int) -> None:
    shared = 0
    for seed in range(150):
        own, layout = windows(Random(seed), specs)
        spans = spans_of(own, layout, most)
        assert sorted(spans.window.tolist()) == list(range(len(own.first)))
        assert len(set(spans.address.tolist())) == len(own.first)
        copy, heads = sum(layout.accumulators), np.cumsum([0, *layout.accumulators])
        for span in range(len(spans.first)):
            lanes = spans.opens[spans.lanes[span] : spans.lanes[span + 1]].tolist()
            reads = range(spans.reads[span], spans.reads[span + 1])
            assert spans.first[span] == lanes[0]
            assert lanes == sorted(set(lanes))
            assert len(lanes) <= max(most, 1)
            closes = [spans.close[read] for read in reads]
            assert closes == sorted(closes)
            assert spans.last[span] == closes[-1]
            shared += len(set(zip(closes, spans.begin[reads.start : reads.stop], strict=True))) > 1
            for read in reads:
                window, lane = spans.window[read], spans.begin[read] // copy
                assert (own.first[window], own.last[window]) == (lanes[lane], spans.close[read])
                spec = own.spec[window]
                assert spans.begin[read] - lane * copy == heads[spec]
                assert spans.end[read] - spans.begin[read] == layout.accumulators[spec]
                first, rows, width = layout.slices()[spec]
                assert first <= spans.address[read] < first + rows * width
                assert (spans.address[read] - first) % width == 0
    assert (shared > 0) == (most != APART or specs > 1)


@pytest.mark.parametrize("most", [APART, 1, 2, 5, 64])
def test_spans_have_the_events_from_their_first_window_to_the_last_end(most: int) -> None:
    for seed in range(150):
        own, layout = windows(Random(seed), 1)
        spans = spans_of(own, layout, most)
        assert sizes_of(own.first, own.last, most).tolist() == (spans.last - spans.first).tolist()
        for span, (begin, end) in enumerate(pairwise(spans.reads.tolist())):
            assert spans.last[span] == own.last[spans.window[begin:end]].max()
            before = own.last[: spans.window[begin]]
            full = span > 0 and spans.lanes[span] - spans.lanes[span - 1] == max(most, 1)
            assert most == APART or full or (before <= spans.first[span]).all()


def test_windows_apart_are_one_only_where_they_have_the_same_events() -> None:
    own = Windows(*np.array([[0, 4, 0, 0], [0, 4, 1, 0], [2, 4, 2, 0], [4, 6, 3, 0]]).T)
    spans = spans_of(own, Layout([4], [1], [1]), APART)
    assert spans.first.tolist() == [0, 2, 4]
    assert spans.reads.tolist() == [0, 2, 3, 4]


def test_what_overlaps() -> None:
    def of(*events: tuple[int, int]) -> bool:
        return overlap(*np.array(events, np.int64).reshape(-1, 2).T)

    assert not of()
    assert not of((0, 3), (3, 5))
    assert not of((0, 3), (0, 3), (3, 5))
    assert of((0, 3), (2, 5))
    assert of((0, 3), (0, 4))


def stream(count: int) -> pa.Table:
    draw = np.random.default_rng(3)
    return pa.table(
        {
            "time": np.sort(draw.integers(0, count, count)),
            "type": np.where(draw.random(count) < 0.2, "P", "B"),
            "x": draw.integers(0, 1000, count),
        }
    )


def work(text: str, events: pa.Table, **how: object) -> tuple[pa.Table, int]:
    """The answer, in which nothing differs from the reference, and how many events kernels folded."""
    found = hamlet_core.execute(text, events, arithmetic="exact", **how)
    assert found.results.equals(hamlet_core.run(text, events, arithmetic="exact", engine="greta"))
    return found.results, found.counters.kernel_events


def test_windows_that_overlap_are_folded_together() -> None:
    events = stream(1_000)
    _, tumbling = work(f"RETURN COUNT(*) {NEXT} WITHIN 60 s", events)
    _, sliding = work(f"RETURN COUNT(*) {NEXT} WITHIN 60 s SLIDE 2 s", events)
    assert tumbling == 1_000
    assert sliding < 6 * tumbling  # each is in thirty windows


def test_a_few_windows_that_overlap_by_little_are_folded_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = []

    def told(*arguments: object) -> int:
        chosen.append(choice.lanes_of(*arguments))
        return chosen[-1]

    monkeypatch.setattr(fold, "lanes_of", told)
    work(f"RETURN COUNT(*) {NEXT} WITHIN 60 s SLIDE 59 s", stream(1_000))
    assert set(chosen) == {APART}


def test_windows_that_end_apart_are_one_fold() -> None:
    events = stream(1_000)
    texts = [f"q{number}: RETURN COUNT(*) {NEXT} WITHIN {10 * number} s SLIDE 10 s" for number in range(1, 6)]
    _, longest = work(texts[-1], events)
    _, together = work("\n".join(texts), events)
    assert together == longest
    _, apart = work("\n".join(texts), events, policy="never")
    assert apart > 2 * longest


@pytest.mark.parametrize("policy", ["dynamic", "never"])
def test_numbers_beyond_doubles_are_those_of_their_windows(policy: str) -> None:
    """Some windows leave the range of doubles, others do not, and lanes go on after they have closed."""
    events = pa.table({"time": range(3_000), "type": ["B"] * 3_000, "x": range(3_000)})
    text = "\n".join(
        f"q{within}: RETURN COUNT(*), SUM(b.x) PATTERN B b+ WHERE b.x < NEXT(b).x WITHIN {within} s SLIDE 400 s"
        for within in (800, 1_200)
    )
    found = hamlet_core.run(text, events, policy=policy)
    truth = hamlet_core.run(text, events, engine="greta")
    assert found.drop_columns(["value", "log2"]).equals(truth.drop_columns(["value", "log2"]))
    assert found["log2"].to_pylist() == pytest.approx(truth["log2"].to_pylist(), rel=1e-12)
    assert max(found["log2"].to_pylist()) > 1_100


def test_spans_are_read_only_by_the_kernel() -> None:
    spans = Spans(*[np.zeros(1, np.int64)] * 10)
    frozen = fold._read_only(spans)
    assert isinstance(frozen, Spans)
    assert not any(one.flags.writeable for one in frozen)
