"""Independent pieces of work on several threads, whose results come in order: kernels do not hold Python's lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from threading import Condition, Thread, get_ident
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from hamlet_core.errors import StreamError
from hamlet_core.progress import UNWATCHED, Progress

if TYPE_CHECKING:
    from typing import Self

T = TypeVar("T")

VARIABLE = "HAMLET_THREADS"
"""How many threads a run has, where nobody says it."""
AHEAD = 2
"""Pieces for each thread that are offered before the first of them is done: who is done early goes on."""
_TOLD_EVERY = 0.1
"""Seconds between two words of how far the pieces of others are."""
_FINE = 1 << 20
"""Parts that the progress of a piece is counted in."""


def threads_of(asked: object = None) -> int:
    """How many threads: those that are asked for, or HAMLET_THREADS, or one for each core that this process may use.

    Raises StreamError E230 where that is no whole number from 1 on.
    """
    if asked is None:
        text = os.environ.get(VARIABLE, "").strip()
        if not text:
            return _cores()
        if text.isascii() and text.isdigit() and int(text) > 0:
            return int(text)
        raise StreamError(
            f"the environment variable {VARIABLE} is {text!r}, and not a number of threads",
            code="E230",
            hint="set it to a whole number from 1 on, or to nothing: then all cores are used",
        )
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 1:
        hint = "give a whole number from 1 on, or None: then all cores are used"
        raise StreamError(f"threads cannot be {asked!r}", code="E230", hint=hint)
    return asked


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Piece(Generic[T]):
    """Something to do, which tells how far it is, and what share of the whole it is, where that is known."""

    work: Callable[[Progress], T]
    share: float = 0.0


class Crew:
    """Threads that do pieces of work, the caller's among them. Mutable: its threads, which are there while the block runs.

    A piece may have pieces of its own: who has to wait for the piece of another does what nobody has begun yet, but within a piece
    none that stands beside it. Those take longer than what is waited for, and what comes after that would wait for them.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.ahead = AHEAD * threads if threads > 1 else 1
        self.stopped = False
        self.changed = Condition()
        """Notified when there is something to do, when something is done, and at the end; held to look at `open`."""
        self.open: list[_Task[Any]] = []
        """Pieces that nobody has begun."""
        self.others: list[Thread] = []
        self.depth: dict[int, int] = {}
        """By thread: how many pieces, each a part of the one before, it is doing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """If nobody asks any more (an error, Ctrl-C), wait for the kernels that are running, at most a second or so each."""
        with self.changed:
            self.stopped = True
            self.changed.notify_all()
        for other in self.others:
            other.join()

    def each(self, pieces: Iterable[Piece[T]], progress: Progress = UNWATCHED) -> Iterator[T]:
        """What the pieces come to, in their order, and then what `pieces` raises. The caller's thread alone tells progress."""
        offered = _Offered[T](progress, iter(pieces), self.depth.get(get_ident(), 0))
        while True:
            while len(offered.tasks) < self.ahead and (piece := offered.coming()) is not None:
                self._offer(offered.add(piece, self))
            if not offered.tasks:
                if offered.failure is not None:
                    raise offered.failure
                return
            first = offered.tasks[0]
            while not first.done:
                if (task := self._taken(offered.depth, first)) is not None:
                    task.do()
                    continue
                self._wait(first, offered.depth)
                offered.tell()
            yield offered.first()

    def _offer(self, task: _Task[Any]) -> None:
        with self.changed:
            self.open.append(task)
            self.changed.notify_all()  # not all that wait may take it
        for_others = len(self.open) if len(self.open) > 1 else 0  # one alone is soon taken by the caller
        if len(self.others) < min(self.threads - 1, for_others):
            self.others.append(Thread(target=self._help, name="hamlet", daemon=True))
            self.others[-1].start()

    def _taken(self, depth: int = 0, wanted: _Task[Any] | None = None) -> _Task[Any] | None:
        """The piece that is wanted, or of those at this depth or deeper the first of the deepest.

        Then few pieces with pieces of their own are begun and not done, and results are there in the order in which they are
        asked for: only then does their caller offer more.
        """
        with self.changed:
            if wanted not in self.open:
                wanted = max(self.open, key=lambda task: task.offered.depth, default=None)
            if wanted is None or wanted.offered.depth < depth:
                return None
            self.open.remove(wanted)
            return wanted

    def _wait(self, task: _Task[Any], depth: int) -> None:
        """For a little while, or until the task is done or there is something to do at this depth or deeper."""
        with self.changed:
            if not task.done and all(one.offered.depth < depth for one in self.open):
                self.changed.wait(_TOLD_EVERY)

    def _help(self) -> None:
        while not self.stopped:
            if (task := self._taken()) is not None:
                task.do()
                continue
            with self.changed:
                if not self.open and not self.stopped:
                    self.changed.wait()


@dataclass(slots=True)
class _Offered(Generic[T]):
    """Mutable: the pieces of one caller that it does not have yet, and how much of all of them is done."""

    progress: Progress
    pieces: Iterator[Piece[T]]
    depth: int
    """0, or how many pieces, each a part of the one before, these are parts of."""
    tasks: deque[_Task[T]] = field(default_factory=deque)
    past: float = 0.0
    told: float = 0.0
    caller: int = field(default_factory=get_ident)
    failure: Exception | None = None
    """Of whoever makes the pieces."""

    def coming(self) -> Piece[T] | None:
        """The next piece, if there is one."""
        try:
            return next(self.pieces, None) if self.failure is None else None
        except Exception as error:  # noqa: BLE001 - raised in its place
            self.failure = error
            return None

    def add(self, piece: Piece[T], crew: Crew) -> _Task[T]:
        """A piece more."""
        task = _Task(piece, crew, self)
        self.tasks.append(task)
        return task

    def first(self) -> T:
        """The result of the first, which is done; raises what its piece raised."""
        task = self.tasks.popleft()
        self.past += task.piece.share
        self.tell()
        if task.error is not None:
            raise task.error
        return task.result  # type: ignore[return-value]

    def tell(self) -> None:
        """Tell how far all are, if this is the caller's thread."""
        if get_ident() == self.caller:
            share = self.past + sum(task.piece.share * task.reached for task in self.tasks)
            self.told = min(max(share, self.told), 1.0)  # sums in other orders are rounded otherwise
            self.progress.at(self.told)


@dataclass(slots=True, eq=False)
class _Task(Generic[T]):
    """Mutable: a piece, which one thread does."""

    piece: Piece[T]
    crew: Crew
    offered: _Offered[T]
    reached: float = 0.0
    result: T | None = None
    error: BaseException | None = None
    done: bool = False

    def do(self) -> None:
        """Do the piece; what it raises is raised where its result is asked for."""
        depth, thread = self.crew.depth, get_ident()
        before = depth.get(thread, 0)
        depth[thread] = self.offered.depth + 1
        try:
            self.result = self.piece.work(Progress(self.tell, _FINE))
        except BaseException as error:
            self.error = error
            if not isinstance(error, Exception):
                raise  # Ctrl-C, whoever's piece it is
        finally:
            depth[thread] = before
            self.reached = 1.0
            with self.crew.changed:
                self.done = True
                self.crew.changed.notify_all()

    def tell(self, done: int, of: int) -> None:
        """Called by the piece."""
        if self.crew.stopped:
            raise _Stopped
        self.reached = done / of
        self.offered.tell()


class _Stopped(Exception):
    """Ends a piece whose result nobody waits for any more."""


def alone() -> Crew:
    """The caller's thread, without any other."""
    return Crew(1)
