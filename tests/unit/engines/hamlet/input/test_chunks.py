"""Streams cut into chunks: every window is whole in one of them, and what is at hand at once is bounded."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from hamlet_core import EventSchema, run
from hamlet_core.engines.hamlet import engine
from hamlet_core.engines.hamlet.input.chunks import Limits, chunks
from hamlet_core.table.kinds import Kind
from hamlet_core.table.stream import Column, Stream
from hamlet_core.windows import WindowSpec

NOTHING = WindowSpec(10, 10)


def stream(times):
    times = np.array(times, np.int64)
    column = Column("v", Kind.INTEGER, 0, pa.array(np.arange(len(times))))
    codes = np.zeros(len(times), np.int32)
    return Stream(times, codes, ("A",), None, {"v": column}, pa.int64(), 1, 0)


def windows_in(time, spec):
    return {index for tick in time.tolist() for index in spec.indices(tick)}


@pytest.mark.parametrize("seed", range(50))
def test_only_the_windows_that_are_wanted_are_answered_for(seed):
    random = Random(seed)
    whole = stream(sorted(random.randrange(-40, 200) for _ in range(80)))
    spec = WindowSpec(random.randrange(1, 20), random.randrange(1, 20))
    first = random.randrange(-5, 20)
    wanted = range(first, first + random.randrange(1, 20))
    parts = list(chunks(whole, [spec], 1, Limits(bytes=random.choice((20, 1_000))), {spec: wanted}))
    found = [index for part in parts for index in part.windows[spec]]
    assert len(found) == len(set(found))
    assert set(found) <= set(wanted)
    assert set(found) >= windows_in(whole.time, spec) & set(wanted)


@pytest.mark.parametrize("seed", range(200))
def test_every_window_is_whole_in_one_stretch(seed):
    random = Random(seed)
    whole = stream(sorted(random.randrange(-40, 200) for _ in range(random.randrange(80))))
    specs = [
        WindowSpec(random.randrange(1, 20), random.randrange(1, 20), random.randrange(20))
        for _ in range(random.randrange(1, 4))
    ]
    limits = Limits(bytes=random.randrange(1, 60), rows=random.randrange(1, 60), overlap=random.randrange(3))
    parts = list(chunks(whole, specs, random.randrange(3), limits))
    for spec in specs:
        taken = [part.windows[spec] if part.windows else range(-1000, 1000) for part in parts]
        found = [sorted(windows_in(whole.time, spec) & set(own)) for own in taken]
        assert [one for own in found for one in own] == sorted(windows_in(whole.time, spec))
        for part, own in zip(parts, found, strict=True):
            for index in own:
                start, end = spec.bounds(index)
                inside = (part.stream.time >= start) & (part.stream.time < end)
                rows = part.stream.row_numbers[inside].tolist()
                assert rows == np.flatnonzero((whole.time >= start) & (whole.time < end)).tolist()
                assert part.stream.columns["v"].array.filter(pa.array(inside)).to_pylist() == rows


def test_a_fold_that_makes_nothing_of_events_is_cut_for_its_results_only():
    whole = stream(range(1_000))
    assert [one.windows for one in chunks(whole, [NOTHING], 0, Limits())] == [None]
    assert len(list(chunks(whole, [NOTHING], 0, Limits(rows=10)))) == 10


def test_a_stretch_has_as_many_events_as_there_is_room_for():
    parts = list(chunks(stream(range(1_000)), [NOTHING], 8, Limits(bytes=800)))
    assert [len(part.stream) for part in parts] == [100] * 10


def test_a_stretch_is_long_enough_for_its_windows():
    spec = WindowSpec(50, 1)
    parts = list(chunks(stream(range(1_000)), [spec], 8, Limits(bytes=8)))
    assert sum(len(part.stream) for part in parts) < 1_000 * 1.25


def test_long_silence_makes_no_stretches():
    whole = stream([tick * 10**9 for tick in range(5_000)])
    assert len(list(chunks(whole, [NOTHING], 0, Limits(rows=1_000)))) == 10


def test_times_at_the_ends_of_int64():
    ends = [-(2**63) + 100, 0, 2**63 - 100]
    parts = list(chunks(stream(ends), [WindowSpec(50, 50)], 8, Limits(bytes=8)))
    assert [part.stream.time.tolist() for part in parts] == [
        ends[:1],
        ends[1:],
    ]  # its window begins before it


def test_no_events_are_one_stretch():
    assert len(list(chunks(stream([]), [NOTHING], 8, Limits(bytes=8)))) == 1


def test_results_of_many_stretches_are_in_the_order_of_results(monkeypatch):
    text = """
    two: RETURN COUNT(*), SUM(a.v) PATTERN A a+ GROUP-BY g WITHIN 7 s SLIDE 3 s
    one: RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE a.v < 9 WITHIN 5 s SLIDE 5 s
    """
    random = Random(1)
    columns = {
        "t": pa.array(sorted(random.randrange(300) for _ in range(200))),
        "type": pa.array([random.choice("AB") for _ in range(200)]),
        "v": pa.array([random.randrange(12) for _ in range(200)]),
        "g": pa.array([random.choice("xyz") for _ in range(200)]),
    }
    table, schema = pa.table(columns), EventSchema(time="t", type="type")
    expected = run(text, table, schema=schema)
    made = []

    def cut(whole, specs, size, limits, only):
        made.extend(chunks(whole, specs, size, Limits(bytes=600, overlap=1), only))
        return iter(made)

    monkeypatch.setattr(engine, "chunks", cut)
    found = run(text, table, schema=schema)
    assert len(made) > 5
    assert found.equals(expected)
