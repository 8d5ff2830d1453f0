"""How kernels are compiled: once per machine, kept on disk, without reference counts (most allocate nothing)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Thread
from typing import Any

from numba import njit
from numba.core.event import Event, Listener, register
from numba.extending import overload

from hamlet_core.engines.hamlet.jit.cache import KernelCache, tell_unkept
from hamlet_core.engines.hamlet.jit.libraries import KernelCompiler
from hamlet_core.progress import COMPILE_TIME

Kernel = Callable[..., Any]

_ENGINE = "hamlet_core.engines.hamlet."
_LOG = logging.getLogger("hamlet_core")
COMPILING = "compiling kernels for this machine, once: this may take a minute"
TOLD_EVERY = 4.0
"""Seconds between two words of how far it is."""

_PART = {
    "nogil": True,
    "_nrt": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": KernelCompiler,
}


def _kept(function: Kernel, **options: Any) -> Kernel:
    """The function compiled at its first call, or taken from the cache."""
    dispatcher = njit(nogil=True, no_cfunc_wrapper=True, pipeline_class=KernelCompiler, **options)(function)
    if cache := KernelCache.of(function):
        dispatcher._cache = cache  # noqa: SLF001 - as njit(cache=True) does, with our own idea of what is fresh
    kernel: Kernel = dispatcher
    return kernel


def compiled(function: Kernel) -> Kernel:
    """A kernel that allocates nothing."""
    # `forceinline` is said, because it would be inherited from the caller.
    return _kept(function, _nrt=False, forceinline=False)


def compiled_part(function: Kernel) -> Kernel:
    """The same, called by other kernels only: it is kept as part of them."""
    part: Kernel = njit(**_PART, forceinline=False)(function)
    return part


def compiled_inline(function: Kernel) -> Kernel:
    """Such a part, put in by the compiler wherever it is called."""
    part: Kernel = njit(**_PART, forceinline=True)(function)
    return part


def compiled_by_types(
    named: Kernel, *, inline: bool = False, strict: bool = True
) -> Callable[[Kernel], Kernel]:
    """Such a part with several bodies: the function says which of them is `named`, from the types of its arguments.

    If it is not `strict`, names of arguments may differ from those of `named`.
    """
    part: Callable[[Kernel], Kernel] = overload(
        named, strict=strict, jit_options={**_PART, "forceinline": inline}
    )
    return part


def compiled_allocating(function: Kernel) -> Kernel:
    """A kernel that makes arrays."""
    return _kept(function)


def compiled_for(*signatures: Any) -> Callable[[Kernel], Kernel]:
    """A kernel that makes arrays, for these types of arguments and no others; compiled when it is imported."""

    def decorate(function: Kernel) -> Kernel:
        kernel = _kept(function)
        dispatcher: Any = kernel
        for signature in signatures:
            dispatcher.compile(signature)
        dispatcher.disable_compile()
        return kernel

    return decorate


class Announcement(Listener):  # type: ignore[misc]
    """Says that kernels of the engine are being compiled, and then how many are: otherwise a run seems to hang.

    Mutable: counts the kernels that this process has compiled.
    """

    def __init__(self, every: float = TOLD_EVERY) -> None:
        self.every = every
        self.begun = self.going_on = self.kernels = 0
        self._telling: Thread | None = None

    def on_start(self, event: Event) -> None:
        """Compilation begins; taking a kernel from the cache is no such event."""
        if not _is_ours(event):
            return
        COMPILE_TIME.begin()
        if not self.begun:
            _LOG.warning(COMPILING)
            if KernelCache.of(compiled) is None:
                tell_unkept("no folder for them can be written")
        self.begun += 1
        self.going_on += 1
        if self._telling is None or not self._telling.is_alive():
            self._telling = Thread(target=self._tell, name="kernels", daemon=True)
            self._telling.start()

    def on_end(self, event: Event) -> None:
        """Compilation has ended."""
        if _is_ours(event):
            COMPILE_TIME.end()
            self.going_on -= 1
            self.kernels += not self.going_on  # else it is a part of one

    def _tell(self) -> None:
        """Until nothing was compiled for a while."""
        since, before = time.monotonic(), 0
        while self.going_on or self.begun > before:
            before = self.begun
            time.sleep(self.every)
            if self.going_on or self.begun > before:
                _LOG.warning("compiling kernels: %d done, %.0f s", self.kernels, time.monotonic() - since)


def _is_ours(event: Event) -> bool:
    module: str = event.data["dispatcher"].py_func.__module__
    return module.startswith(_ENGINE)


class _Failure(Listener):  # type: ignore[misc]
    """Ends the turn of a process that gives up compiling, as by Ctrl-C: numba tells its cache of kernels that are made only."""

    def on_start(self, event: Event) -> None:
        """Compilation begins."""

    def on_end(self, event: Event) -> None:
        """Compilation has ended, one way or the other."""
        dispatcher = event.data["dispatcher"]
        kept, made = dispatcher._cache, tuple(event.data["args"]) in dispatcher.overloads  # noqa: SLF001 - as above
        if not made and isinstance(kept, KernelCache):
            kept.give_up()


register("numba:compile", Announcement())
register("numba:compile", _Failure())
