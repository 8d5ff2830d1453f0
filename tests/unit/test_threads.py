"""Pieces of work on several threads: results in order, errors where they are asked for, no word from another thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from hamlet_core import StreamError, run
from hamlet_core.engines.hamlet import engine
from hamlet_core.progress import Progress, watching
from hamlet_core.streams.ridesharing import generate
from hamlet_core.streams.trips import RideSharing
from hamlet_core.threads import VARIABLE, Crew, Piece, threads_of


def piece(work: Callable[[], object], share: float = 0.1) -> Piece[object]:
    return Piece(lambda _: work(), share)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_results_come_in_the_order_of_the_pieces(threads: int) -> None:
    def late(number: int) -> int:
        time.sleep(0.001 * (5 - number % 5))
        return number

    with Crew(threads) as crew:
        found = list(crew.each(piece(lambda number=number: late(number)) for number in range(40)))
    assert found == list(range(40))


def test_pieces_are_at_work_at_once() -> None:
    both = threading.Barrier(2, timeout=30)
    with Crew(2) as crew:
        assert len(list(crew.each([piece(both.wait), piece(both.wait)]))) == 2


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_piece_may_have_pieces_and_who_waits_helps(threads: int) -> None:
    with Crew(threads) as crew:

        def outer(number: int) -> list[object]:
            return list(crew.each(piece(lambda one=one: (number, one)) for one in range(7)))

        found = list(crew.each(piece(lambda number=number: outer(number)) for number in range(9)))
    assert found == [[(number, one) for one in range(7)] for number in range(9)]


def test_who_waits_does_the_pieces_of_others() -> None:
    """The second thread has a piece with two pieces that can only be done at once: the first, which waits, must help."""
    both = threading.Barrier(2, timeout=30)
    began = threading.Event()
    with Crew(2) as crew:

        def outer() -> int:
            began.set()
            return len(list(crew.each([piece(both.wait), piece(both.wait)])))

        def first() -> int:
            began.wait(30)
            return 0

        assert list(crew.each([piece(first), piece(outer)])) == [0, 2]


def test_who_waits_within_a_piece_begins_none_that_stands_beside_it() -> None:
    """It would be done too late with its own: two threads do the parts of a piece, and while one waits for the other a third stays."""
    both = threading.Barrier(2, timeout=30)
    within, beside = threading.Event(), threading.Event()
    early: list[bool] = []

    def short() -> None:
        within.set()
        both.wait()

    def long() -> None:
        both.wait()
        early.append(beside.wait(0.2))

    with Crew(2) as crew:

        def outer() -> int:
            return len(list(crew.each([piece(short), piece(long)])))

        pieces = [piece(outer), piece(lambda: within.wait(30)), piece(beside.set)]
        assert list(crew.each(pieces)) == [2, True, None]
    assert early == [False]


def test_pieces_are_begun_in_their_order() -> None:
    """Results that nobody asks for yet let no more pieces be offered: while the first takes long, the next ones are done."""
    begun: list[int] = []
    third = threading.Event()

    def work(number: int) -> None:
        if number == 0:
            assert third.wait(30)
        else:
            begun.append(number)
        if number == 3:
            third.set()

    with Crew(2) as crew:
        list(crew.each(piece(lambda number=number: work(number)) for number in range(4)))
    assert begun == [1, 2, 3]


def test_one_piece_alone_is_done_by_its_caller() -> None:
    with Crew(8) as crew:
        assert list(crew.each([piece(threading.current_thread)])) == [threading.current_thread()]
        assert not crew.others


@pytest.mark.parametrize("threads", [1, 2])
def test_what_a_piece_raises_is_raised_in_its_place(threads: int) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    with Crew(threads) as crew:
        found = crew.each([piece(lambda: 1), piece(fail)])
        assert next(found) == 1
        with pytest.raises(ZeroDivisionError):
            next(found)


def test_few_pieces_are_begun_before_they_are_asked_for() -> None:
    begun = []
    with Crew(2) as crew:
        found = crew.each(piece(lambda number=number: begun.append(number)) for number in range(1000))
        next(found)
        time.sleep(0.05)
        assert len(begun) <= 5


def test_the_others_end_when_nobody_asks_any_more() -> None:
    both, ended = threading.Barrier(2, timeout=30), threading.Event()

    def work(progress: Progress) -> None:
        both.wait()
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt  # as Ctrl-C does
        try:
            while True:
                progress.at(0.5)
                time.sleep(0.001)
        finally:
            ended.set()

    with pytest.raises(KeyboardInterrupt), Crew(2) as crew:
        list(crew.each([Piece(work, 0.5), Piece(work, 0.5)]))
    assert ended.is_set()
    assert not [one for one in threading.enumerate() if one.name == "hamlet"]


def test_progress_never_falls_and_is_told_by_the_callers_thread_alone() -> None:
    told: list[tuple[int, int]] = []

    def work(progress: Progress) -> None:
        for share in (0.25, 0.5, 0.75, 1.0):
            time.sleep(0.001)
            progress.at(share)

    with Crew(3) as crew:
        progress = Progress(lambda done, _: told.append((done, threading.get_ident())), 1000)
        list(crew.each([Piece(work, 1 / 20)] * 20, progress))
    numbers = [done for done, _ in told]
    assert numbers == sorted(numbers)
    assert numbers[-1] == 1000
    assert {thread for _, thread in told} == {threading.get_ident()}


def test_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert threads_of() >= 1
    assert threads_of(3) == 3
    monkeypatch.setenv(VARIABLE, " 5 ")
    assert threads_of() == 5
    assert threads_of(2) == 2
    monkeypatch.setenv(VARIABLE, "")
    assert threads_of() >= 1


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", True])
def test_a_number_of_threads_that_is_none(wrong: object) -> None:
    with pytest.raises(StreamError, match=r"\[E230\] threads cannot be ") as raised:
        run("RETURN COUNT(*) PATTERN A WITHIN 1 s", _rides(10), threads=wrong)  # type: ignore[arg-type]
    assert "whole number from 1 on" in str(raised.value)


@pytest.mark.parametrize("wrong", ["zero", "0", "-2", "1.5"])
def test_a_variable_that_is_no_number_of_threads(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, wrong)
    with pytest.raises(StreamError, match=f"E230. the environment variable HAMLET_THREADS is '{wrong}'"):
        run("RETURN COUNT(*) PATTERN A WITHIN 1 s", _rides(10))


def test_a_run_folds_in_other_threads_and_says_so_in_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two classes: one thread folds each, and both must be at work at once."""
    both, folding = threading.Barrier(2, timeout=60), engine.prepare

    def prepare(*asked: object, **how: object) -> object:
        both.wait()
        return folding(*asked, **how)

    monkeypatch.setattr(engine, "prepare", prepare)
    monkeypatch.setattr(engine, "ALONE", 0)
    text = "p: RETURN COUNT(*) PATTERN Travel+ WHERE [driver] WITHIN 1 h q: RETURN COUNT(*) PATTERN Travel WITHIN 1 h"
    told: list[int] = []
    with watching(lambda done, of: told.append(of - done)):
        found = run(text, _rides(500), threads=2)
    assert found.num_rows > 0
    assert told == sorted(told, reverse=True)
    assert told[-1] == 0


def test_few_events_are_folded_by_the_callers_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, folding = set(), engine.prepare

    def prepare(*asked: object, **how: object) -> object:
        seen.add(threading.get_ident())
        return folding(*asked, **how)

    monkeypatch.setattr(engine, "prepare", prepare)
    run("RETURN COUNT(*) PATTERN Travel+ WHERE [driver] WITHIN 1 h", _rides(500), threads=8)
    assert seen == {threading.get_ident()}


def _rides(events: int) -> object:
    return generate(RideSharing(events=events, seed=3))


@pytest.mark.parametrize("threads", [1, 2])
def test_whoever_makes_pieces_may_fail_and_those_before_are_done(threads: int) -> None:
    def pieces() -> Iterator[Piece[object]]:
        yield piece(lambda: 1)
        yield piece(lambda: 2)
        raise ZeroDivisionError

    with Crew(threads) as crew:
        found = crew.each(pieces())
        assert [next(found), next(found)] == [1, 2]
        with pytest.raises(ZeroDivisionError):
            next(found)
