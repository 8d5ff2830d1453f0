"""Where compiled kernels are kept, and when they are fresh: as long as no source that any kernel reads has changed.

In NUMBA_CACHE_DIR if it is set, else beside the sources, else in the user's cache; the first that can be written.
Every file begins with the digest of what follows, and an index names the digests of its kernels: a file that is damaged,
or not the one that its index means, is compiled again. That guards against accidents: the files are pickles, and whoever
may write them decides what runs.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import logging
import pickle
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from os.path import commonpath
from pathlib import Path
from typing import Any, TextIO

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    InTreeCacheLocator,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
)
from numba.core.runtime import rtsys

_LOG = logging.getLogger("hamlet_core")
ENGINE = Path(__file__).parents[1]
_ROOT = ENGINE.parents[2]
_UNREADABLE = (
    OSError,
    EOFError,
    AttributeError,
    ImportError,
    LookupError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
)
"""What reading kernels may raise that others wrote: a version before this one, or one with an index of another shape."""

_FORMAT = b"HAMLET1\n"
"""How each file begins; those of versions without digests begin as a pickle does."""

_DIGEST = 32
"""Bytes of a digest, which is next."""

_CONTENT = len(_FORMAT) + _DIGEST
"""Where the content begins."""

_PATIENCE = 300.0
"""Seconds to wait for a kernel that another process compiles."""

_COMPILED = re.compile(r"^from (numba|hamlet_core\.engines\.hamlet\.jit\.decorators)\b", re.MULTILINE)
_IMPORTED = re.compile(r"^(?:from|import) (hamlet_core(?:\.\w+)+)", re.MULTILINE)


@cache
def tell_unkept(place: str) -> None:
    """Say, once a place, that each process compiles for itself."""
    _LOG.warning(
        "compiled kernels cannot be kept (%s): each run compiles them anew; NUMBA_CACHE_DIR names another folder",
        place,
    )


@cache
def kernel_sources() -> tuple[Path, ...]:
    """Modules with compiled functions, and the modules of ours that they name: constants become code."""
    texts = {path: path.read_text("utf-8") for path in ENGINE.rglob("*.py")}
    kernels = {path: text for path, text in texts.items() if _COMPILED.search(text)}
    named = {name for text in kernels.values() for name in _IMPORTED.findall(text)}
    modules = (_ROOT / f"{name.replace('.', '/')}.py" for name in named)
    return tuple(sorted({*kernels, *(path for path in modules if path.is_file())}))


@cache
def kernel_stamp() -> str:
    """A digest of the kernel sources; kernels inline each other across modules, so one stands for all."""
    digest = hashlib.sha256()
    for path in kernel_sources():
        digest.update(f"{path.relative_to(_ROOT)}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


class _Stamped:
    def get_source_stamp(self) -> str:
        """What the kernels on disk must have been compiled from."""
        return kernel_stamp()


class _Chosen(_Stamped, UserProvidedCacheLocator):  # type: ignore[misc]
    """In NUMBA_CACHE_DIR."""


class _InPackage(_Stamped, InTreeCacheLocator):  # type: ignore[misc]
    """In `__pycache__` beside the source."""


class _OfUser(_Stamped, UserWideCacheLocator):  # type: ignore[misc]
    """In the user's cache directory."""


class _Kernels(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Chosen, _InPackage, _OfUser)


class SealedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """The files of one function: an index of its kernels by types of arguments, and a file a kernel.

    A kernel is written before the index that names it, so that a process killed in between leaves a file nobody reads.
    """

    def load(self, key: Any) -> Any:
        """The kernel of these types; None if there is none that is whole."""
        name, seal = self._load_index().get(key, (None, b""))
        return None if name is None else _unsealed(Path(self._data_path(name)), seal)

    def save(self, key: Any, data: Any) -> None:
        """Keep a kernel under its types; one process at a time may."""
        kernels = self._load_index()
        taken = {name for name, _ in kernels.values()}
        name, _ = kernels.get(key) or (
            next(one for one in map(self._data_name, itertools.count(1)) if one not in taken),
            b"",
        )
        kernels[key] = name, _seal(Path(self._data_path(name)), self._dump(data))
        self._save_index(kernels)

    def _load_index(self) -> dict[Any, tuple[str, bytes]]:
        found = _unsealed(Path(self._index_path))
        if found is None or found[:2] != (self._version, self._source_stamp):
            return {}
        kernels: dict[Any, tuple[str, bytes]] = found[2]
        return kernels

    def _save_index(self, overloads: dict[Any, tuple[str, bytes]]) -> None:
        _seal(Path(self._index_path), self._dump((self._version, self._source_stamp, overloads)))


def _seal(path: Path, content: bytes) -> bytes:
    """Write a file whole or not at all, after its digest, which is returned."""
    digest = _digest(content)
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(_FORMAT + digest + content)
    part.replace(path)
    return digest


def _unsealed(path: Path, digest: bytes | None = None) -> Any:
    """What a file holds, with this digest if one is given; None if there is no such file, or a damaged one."""
    try:
        content = memoryview(path.read_bytes())
    except OSError:
        return None
    found = _digest_of_whole(content)
    whole = found is not None and digest in (None, found)
    return pickle.loads(content[_CONTENT:]) if whole else None  # noqa: S301 - see above: whoever may write here decides what runs


def _digest_of_whole(file: memoryview) -> bytes | None:
    """The digest that a file begins with; None if its content has another."""
    digest = bytes(file[len(_FORMAT) : _CONTENT])
    return digest if file[: len(_FORMAT)] == _FORMAT and digest == _digest(file[_CONTENT:]) else None


def _digest(content: bytes | memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()


def _is_damaged(path: Path) -> bool:
    try:
        content = path.read_bytes()
    except OSError:
        return True
    return _digest_of_whole(memoryview(content)) is None and not content.startswith(pickle.PROTO)


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The kernels of one function by types of arguments, shared by all processes of a machine.

    A cache that cannot be read or written costs time, never a run.
    """

    _impl_class = _Kernels

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._turns: dict[Any, TextIO] = {}
        self._cache_file = SealedFiles(self._cache_path, self._impl.filename_base, kernel_stamp())

    @classmethod
    def of(cls, function: Callable[..., Any]) -> KernelCache | None:
        """The cache of a function; None where no directory can be written: each process compiles for itself."""
        try:
            return cls(function)
        except RuntimeError:
            return None

    def beside(self, source: Path) -> str:
        """The directory for kernels of another module, if they are kept as those of this function are."""
        directory: str = type(self._impl.locator)(self._py_func, str(source)).get_cache_path()
        return directory

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel for these types; None where there is none, or none that can be read.

        Numba's own way first loads all that it can compile, with SciPy's algebra; what is compiled needs its runtime only.
        Who gets None compiles, and others that ask meanwhile wait for the kernel: a machine compiles it once.
        """
        rtsys.initialize(target_context)
        found = self._load(sig, target_context)
        if found is None and self._others_were_at_it(sig, target_context):
            found = self._load(sig, target_context)
            if found is not None:
                self._done_with(sig)
        return found

    def _load(self, sig: Any, target_context: Any) -> Any:
        try:
            return self._load_overload(sig, target_context)
        except _UNREADABLE:
            self._forget()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a kernel: one process at a time, or two could give one name to kernels for different types."""
        try:
            with _alone(Path(self.cache_path)):
                super().save_overload(sig, data)
        except OSError as failure:
            tell_unkept(failure.strerror or str(failure))
            self._forget()
        except _UNREADABLE:
            self._forget()
        finally:
            self._done_with(sig)

    def _others_were_at_it(self, sig: Any, target_context: Any) -> bool:
        """Whether this process has waited for another to compile the kernel. It is its own turn now, in either case.

        The system ends the turn of a process that dies; one that is held up is not waited for longer than `_PATIENCE`.
        """
        key = repr(self._index_key(sig, target_context.codegen())).encode()
        path = (
            Path(self.cache_path) / f"{self._impl.filename_base}.{hashlib.sha256(key).hexdigest()[:16]}.turn"
        )
        waited, until = False, time.monotonic() + _PATIENCE
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            turn = path.open("w")
        except OSError:
            return False
        while True:
            try:
                fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    turn.close()
                    return True
            except OSError:
                turn.close()
                return waited
            else:
                self._turns[sig] = turn
                return waited
            waited = True
            time.sleep(0.05)

    def give_up(self) -> None:
        """Let others compile what this process began to compile and will not."""
        for sig in list(self._turns):
            self._done_with(sig)

    def _done_with(self, sig: Any) -> None:
        if turn := self._turns.pop(sig, None):
            with suppress(OSError):
                Path(turn.name).unlink(missing_ok=True)
                fcntl.flock(turn, fcntl.LOCK_UN)  # by name: a process forked meanwhile has the file too
            turn.close()

    def _forget(self) -> None:
        with suppress(OSError), _alone(Path(self.cache_path)):
            self.flush()


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "kernels.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True, slots=True)
class CachePlace:
    """Where kernels are kept on this machine: below `directory`, which is None where they cannot be kept."""

    directory: Path | None
    kernels: int
    damaged: tuple[Path, ...] = ()
    """Files that are not as they were written."""


def any_kernels() -> bool:
    """Whether a kernel of the engine is kept on this machine, fresh or not; none is opened."""
    return any(True for one in _directories() for _ in one.glob("*.nbc"))


def _directories() -> set[Path]:
    """Where kernels are kept, a directory a room; empty where they cannot be."""
    found = KernelCache.of(_directories)
    return set() if found is None else {Path(found.beside(path)) for path in ENGINE.rglob("*.py")}


def cache_place() -> CachePlace:
    """Where kernels of the engine are kept, how many are there, and which files are damaged: all are read.

    Each room has a directory of its own.
    """
    directories = _directories()
    if not directories:
        return CachePlace(None, 0)
    files = sorted(path for one in directories for kind in ("*.nbi", "*.nbc") for path in one.glob(kind))
    damaged = tuple(filter(_is_damaged, files))
    return CachePlace(Path(commonpath(directories)), sum(path.suffix == ".nbc" for path in files), damaged)
