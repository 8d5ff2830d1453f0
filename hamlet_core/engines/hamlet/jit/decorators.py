"""How kernels are compiled: once per machine, kept on disk, without reference counts (most allocate nothing)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.event import Event, Listener, register
from numba.extending import overload

from hamlet_core.engines.hamlet.jit.cache import KernelCache
from hamlet_core.engines.hamlet.jit.libraries import KernelCompiler

Kernel = Callable[..., Any]

_ENGINE = "hamlet_core.engines.hamlet."
COMPILING = "compiling kernels for this machine, once: this may take a minute"


_PART = {
    "nogil": True,
    "_nrt": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": KernelCompiler,
}


def _kept(function: Kernel, **options: Any) -> Kernel:
    """The function compiled at its first call, or taken from the cache."""
    dispatcher = njit(nogil=True, pipeline_class=KernelCompiler, **options)(function)
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


register("numba:compile", _Announcement())
register("numba:compile", _Failure())
