"""How kernels are compiled: once per machine, kept on disk, without reference counts (most allocate nothing)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.event import Event, Listener, register

from hamlet_core.engines.hamlet.jit.cache import KernelCache

Kernel = Callable[..., Any]

_ENGINE = "hamlet_core.engines.hamlet."
COMPILING = "compiling kernels for this machine, once: this may take a minute"


def _kept(function: Kernel, **options: Any) -> Kernel:
    """The function compiled at its first call, or taken from the cache."""
    dispatcher = njit(nogil=True, **options)(function)
    if cache := KernelCache.of(function):
        dispatcher._cache = cache  # noqa: SLF001 - as njit(cache=True) does, with our own idea of what is fresh
    kernel: Kernel = dispatcher
    return kernel


def compiled(function: Kernel) -> Kernel:
    """A kernel that allocates nothing."""
    # `forceinline` is said, because it would be inherited from the caller.
    return _kept(function, _nrt=False, forceinline=False)


def compiled_part(function: Kernel) -> Kernel:
    """The same, called by other kernels only: what Python would need to call it takes a while to compile."""
    return _kept(function, _nrt=False, forceinline=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def compiled_inline(function: Kernel) -> Kernel:
    """Such a part, put in by the compiler wherever it is called."""
    return _kept(function, _nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def compiled_within(function: Kernel) -> Kernel:
    """Such a part that one kernel calls: its source becomes the caller's, so that it is not optimised twice."""
    part: Kernel = njit(inline="always")(function)
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


class _Announcement(Listener):  # type: ignore[misc]
    """Says once a process that kernels of the engine are being compiled: otherwise a run seems to hang."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Event) -> None:
        """Compilation begins; taking a kernel from the cache is no such event."""
        if not self.said and event.data["dispatcher"].py_func.__module__.startswith(_ENGINE):
            self.said = True
            logging.getLogger("hamlet_core").warning(COMPILING)

    def on_end(self, event: Event) -> None:
        """Compilation has ended."""


register("numba:compile", _Announcement())
