"""Windows and panes: drawings for people, brute force for corners."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet_core.errors import InvariantError
from hamlet_core.windows import Panes, WindowSpec

OVERLAPPING = """
time  -8  -4  0   4   8   12  16
  -2  [=========)
  -1      [=========)
   0          [=========)
   1              [=========)
   2                  [=========)
"""  # within 10, slide 4: no multiple

HOLES = """
time  -8  -4  0   4   8   12  16
  -1     [==)
   0          [==)
   1               [==)
   2                    [==)
"""  # within 3, slide 5: times 3, 4, 8, 9, ... are in no window

SHIFTED = """
time  -8  -4  0   4   8   12  16
  -2    [=====)
  -1       [=====)
   0          [=====)
   1             [=====)
"""  # origin 0 in the drawing is -100 in time

PANES = """
time  -8  -4  0   4   8   12  16
   0          [=========)
   1              [=========)
"""  # within 10, slide 4: panes of 2 cut at every second place


def drawn(picture: str) -> dict[int, tuple[int, int]]:
    """Index -> (start, end) of each bar; the column of the ruler's 0 is time 0."""
    ruler, *bars = picture.strip("\n").splitlines()
    zero = ruler.index(" 0 ") + 1
    return {int(bar.split("[")[0]): (bar.index("[") - zero, bar.index(")") - zero) for bar in bars}


@pytest.mark.parametrize(
    ("picture", "spec"),
    [
        (OVERLAPPING, WindowSpec(within=10, slide=4)),
        (HOLES, WindowSpec(within=3, slide=5)),
        (SHIFTED, WindowSpec(within=6, slide=3, origin=-100)),
    ],
    ids=["overlapping", "holes", "shifted"],
)
def test_windows_are_where_they_are_drawn(picture: str, spec: WindowSpec) -> None:
    bars = drawn(picture)
    assert {index: spec.bounds(index) for index in bars} == {
        index: (spec.origin + start, spec.origin + end) for index, (start, end) in bars.items()
    }
    for time in range(2):  # the whole drawing shows every window of these times
        covering = [index for index, (start, end) in bars.items() if start <= time < end]
        assert list(spec.indices(spec.origin + time)) == covering


def test_a_window_has_its_start_and_not_its_end() -> None:
    spec = WindowSpec(within=10, slide=10)
    assert [list(spec.indices(time)) for time in (-1, 0, 9, 10)] == [[-1], [0], [0], [1]]


def test_no_window_contains_a_time_in_a_hole() -> None:
    spec = WindowSpec(within=3, slide=5)
    assert [len(spec.indices(time)) for time in range(5)] == [1, 1, 1, 0, 0]


sizes = st.integers(1, 40)
times = st.integers(-300, 300)


@given(sizes, sizes, st.integers(-50, 50), times)
def test_indices_are_the_windows_that_contain_the_time(
    within: int, slide: int, origin: int, time: int
) -> None:
    spec = WindowSpec(within, slide, origin)
    brute = [
        index
        for index in range(-800, 800)
        if origin + index * slide <= time < origin + index * slide + within
    ]
    assert list(spec.indices(time)) == brute


@given(st.integers(-(2**63), 2**63 - 1), st.integers(1, 2**62), st.integers(1, 2**62))
def test_the_ends_of_int64_are_exact(time: int, within: int, slide: int) -> None:
    spec = WindowSpec(within, max(slide, within // 5))
    found = spec.indices(time)
    for index in found:
        start, end = spec.bounds(index)
        assert start <= time < end
    for outside in (found.start - 1, found.stop):
        start, end = spec.bounds(outside)
        assert not start <= time < end


def test_panes_are_where_the_windows_of_the_drawing_cut() -> None:
    spec = WindowSpec(within=10, slide=4)
    panes = Panes.of([spec])
    assert panes.length == 2
    for index, (start, end) in drawn(PANES).items():
        assert [panes.bounds(pane) for pane in panes.of_window(spec, index)] == [
            (place, place + 2) for place in range(start, end, 2)
        ]


@given(st.lists(st.tuples(sizes, sizes), min_size=1, max_size=4), st.integers(-50, 50), times)
def test_no_window_cuts_a_pane_and_no_coarser_panes_would_do(
    shapes: list[tuple[int, int]], origin: int, time: int
) -> None:
    specs = [WindowSpec(within, slide, origin) for within, slide in shapes]
    panes = Panes.of(specs)
    pane = panes.pane_of(time)
    start, end = panes.bounds(pane)
    assert start <= time < end
    for spec in specs:
        containing = spec.indices(time)
        assert all(spec.indices(other) == containing for other in range(start, end))
        assert all(pane in panes.of_window(spec, index) for index in containing)
    cuts = {bound - origin for spec in specs for index in range(50) for bound in spec.bounds(index)}
    assert not any(all(cut % coarser == 0 for cut in cuts) for coarser in range(panes.length + 1, 41))


@pytest.mark.parametrize(("within", "slide"), [(0, 1), (1, 0), (-5, 5), (5, -5)])
def test_windows_without_length_or_step_are_a_bug_upstream(within: int, slide: int) -> None:
    with pytest.raises(InvariantError, match="positive"):
        WindowSpec(within, slide)


def test_panes_need_one_origin() -> None:
    with pytest.raises(InvariantError, match=r"one origin, got \[0, 1\]"):
        Panes.of([WindowSpec(5, 5, 0), WindowSpec(5, 5, 1)])
    with pytest.raises(InvariantError, match="one origin"):
        Panes.of([])
