"""Where compiled kernels are kept, and when they are fresh: as long as no source that any kernel reads has changed.

In NUMBA_CACHE_DIR if it is set, else beside the sources, else in the user's cache; the first that can be written.
"""

from __future__ import annotations

import fcntl
import hashlib
import pickle
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    InTreeCacheLocator,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
)
from numba.core.runtime import rtsys

HERE = Path(__file__).parent
_ROOT = HERE.parents[2]
_UNREADABLE = (OSError, EOFError, AttributeError, ImportError, IndexError, pickle.UnpicklingError)
"""What reading kernels may raise that others wrote: a version before this one, or a process that was killed."""

_COMPILED = re.compile(r"^from (numba|hamlet_core\.engines\.hamlet\.compilation)\b", re.MULTILINE)
_IMPORTED = re.compile(r"^(?:from|import) (hamlet_core(?:\.\w+)+)", re.MULTILINE)


@cache
def kernel_sources() -> tuple[Path, ...]:
    """Modules with compiled functions, and the modules of this package that they name: constants become code."""
    texts = {path: path.read_text("utf-8") for path in HERE.glob("*.py")}
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


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The kernels of one function by types of arguments, shared by all processes of a machine.

    A cache that cannot be read or written costs time, never a run.
    """

    _impl_class = _Kernels

    @classmethod
    def of(cls, function: Callable[..., Any]) -> KernelCache | None:
        """The cache of a function; None where no directory can be written: each process compiles for itself."""
        try:
            return cls(function)
        except RuntimeError:
            return None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel for these types; None where there is none, or none that can be read.

        Numba's own way first loads all that it can compile, with SciPy's algebra; what is compiled needs its runtime only.
        """
        rtsys.initialize(target_context)
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
        except _UNREADABLE:
            self._forget()

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
    """Where kernels are kept on this machine; `directory` is None where they cannot be kept."""

    directory: Path | None
    kernels: int


def cache_place() -> CachePlace:
    """Where kernels of this package are kept, and how many are there."""
    found = KernelCache.of(cache_place)
    if found is None:
        return CachePlace(None, 0)
    directory = Path(found.cache_path)
    return CachePlace(directory, sum(1 for _ in directory.glob("*.nbc")))
